//! What an instance prints, and what that says about its end.

use crate::task::{FAILURE_MARK, TaskFailure};
use std::io::{ErrorKind, Read as _};
use std::process::ChildStdout;

/// Bytes that are kept of what was printed last.
const KEPT: usize = 1 << 16;
/// Lines that an error quotes.
const QUOTED: usize = 8;
/// What the kernel prints first when it gives up.
const PANIC: &str = "Kernel panic - not syncing: ";

/// The end of what an instance has printed.
#[derive(Debug, Default)]
pub(crate) struct Console {
    bytes: Vec<u8>,
}

impl Console {
    /// Reads what there is, without waiting; `false` where nothing more can come.
    pub(crate) fn read(&mut self, output: &mut ChildStdout) -> bool {
        let mut chunk = [0; 4096];
        loop {
            match output.read(&mut chunk) {
                Ok(0) => return false,
                Ok(bytes) => self.add(&chunk[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * KEPT {
            self.bytes.drain(..self.bytes.len() - KEPT);
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).replace('\r', "")
    }

    /// The failure that the worker printed because it could write no answer.
    pub(crate) fn failure(&self) -> Option<TaskFailure> {
        let text = self.text();
        let (_, rest) = text.rsplit_once(FAILURE_MARK)?;
        serde_json::from_str(rest.lines().next()?).ok()
    }

    /// Why the kernel gave up, where it did.
    pub(crate) fn panic(&self) -> Option<String> {
        let text = self.text();
        let (_, rest) = text.split_once(PANIC)?;
        Some(rest.lines().next()?.trim().to_owned())
    }

    /// The last lines, for an error.
    pub(crate) fn quote(&self) -> String {
        let text = self.text();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(QUOTED)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::FailureKind;

    fn printed(text: &str) -> Console {
        let mut console = Console::default();
        console.add(text.as_bytes());
        console
    }

    #[test]
    fn panic_is_found_among_other_lines() {
        let console = printed("[ 1.0] ok\r\nKernel panic - not syncing: no memory\r\nCPU: 0\r\n");
        assert_eq!(console.panic().as_deref(), Some("no memory"));
        assert_eq!(printed("all is well\n").panic(), None);
    }

    #[test]
    fn failure_of_the_worker_is_read() {
        let failure = TaskFailure { kind: FailureKind::Storage(28), message: "full".to_owned() };
        let json = serde_json::to_string(&failure).expect("plain values");
        let console = printed(&format!("noise\n{FAILURE_MARK}{json}\nreboot: power down\n"));
        assert_eq!(console.failure(), Some(failure));
    }

    #[test]
    fn only_the_end_of_much_output_is_kept() {
        let mut console = Console::default();
        for number in 0..100_000 {
            console.add(format!("line {number}\n").as_bytes());
        }
        assert!(console.bytes.len() <= 2 * KEPT);
        assert!(console.quote().ends_with("line 99999"));
    }
}
