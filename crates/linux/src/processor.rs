//! Processors for processes that gain from staying on one.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, id};
use std::sync::{Mutex, PoisonError};

/// How many leases each processor has.
static LEASES: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// The lease of a processor that has the fewest in this process; it ends when dropped.
#[derive(Debug)]
pub struct Processor(Option<usize>);

impl Processor {
    /// Takes a processor of those that this process may use. Processes that lease one each begin with different ones.
    pub fn lease() -> Self {
        let allowed = allowed();
        let mut leases = LEASES.lock().unwrap_or_else(PoisonError::into_inner);
        leases.resize(CpuSet::MAX_CPU, 0);
        let first = id() as usize % allowed.len().max(1);
        let turns = allowed.iter().cycle().skip(first).take(allowed.len());
        let chosen = turns.copied().min_by_key(|&processor| leases[processor]);
        if let Some(processor) = chosen {
            leases[processor] += 1;
        }
        Self(chosen)
    }

    /// Has the process of `command`, and all that it starts, stay on this processor.
    pub fn pin<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let Some(processor) = self.0 else { return command };
        let mut set = CpuSet::new();
        set.set(processor);
        // SAFETY: a system call that may be made between `fork` and `exec`, on memory that the closure owns.
        unsafe { command.pre_exec(move || Ok(sched_setaffinity(None, &set)?)) }
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        if let Some(processor) = self.0 {
            LEASES.lock().unwrap_or_else(PoisonError::into_inner)[processor] -= 1;
        }
    }
}

/// The processors that this thread may use; none where the system does not say.
fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).ok();
    (0..CpuSet::MAX_CPU).filter(|&it| set.as_ref().is_some_and(|set| set.is_set(it))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_spread_evenly() {
        let count = allowed().len();
        let leases: Vec<Processor> = (0..2 * count).map(|_| Processor::lease()).collect();
        let mut chosen: Vec<usize> = leases.iter().filter_map(|lease| lease.0).collect();
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), count);
    }

    #[test]
    fn pinned_process_has_one_processor() {
        let mut command = Command::new("nproc");
        let output = Processor::lease().pin(&mut command).output().expect("a program of coreutils");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1");
    }
}
