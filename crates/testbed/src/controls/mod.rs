//! Congestion controls in C in the running kernel: loaded, listed, removed.
//!
//! What is loaded stays when the process ends, until it is removed or the machine starts anew; a run removes what
//! it has loaded itself. Loading is root's business, and that of a build with the feature `ebpf`.
//!
//! | module | concern |
//! |---|---|
//! | `loader` | objects into the kernel and out of it |
//! | `loadable` | what could be loaded, by the names that scenarios have |
//! | `error` | why the kernel does not take one |

mod error;
mod loadable;
#[cfg(feature = "ebpf")]
mod loader;
#[cfg(not(feature = "ebpf"))]
#[path = "no_loader.rs"]
mod loader;

pub use error::ControlError;
pub(crate) use loadable::Missing;
pub use loadable::{ControlObject, Loadable};
pub use loader::{load, loaded, unload};

use crate::ebpf::EbpfError;
use crate::sys;

/// The running kernel's description of its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Its type for congestion controls by eBPF.
const SLOT: &[u8] = b"\0bpf_struct_ops_tcp_congestion_ops\0";

/// Names of the congestion controls that sockets may be given now.
pub fn available() -> Vec<String> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let names = std::fs::read_to_string(path).unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

/// What keeps congestion controls from being loaded here.
pub fn obstacle() -> Option<ControlError> {
    if !cfg!(feature = "ebpf") {
        return Some(ControlError::Unavailable(EbpfError::NotBuilt));
    }
    let Ok(types) = std::fs::read(TYPES) else {
        return Some(ControlError::Unavailable(EbpfError::NoKernelTypes));
    };
    if !types.windows(SLOT.len()).any(|window| window == SLOT) {
        return Some(ControlError::NoSlot);
    }
    (!sys::is_root()).then_some(ControlError::NotRoot)
}

/// Congestion controls that a run has loaded; they are removed with this.
#[derive(Debug)]
pub(crate) struct LoadedForRun(Vec<String>);

impl LoadedForRun {
    /// Loads those of `controls` that are not there.
    pub(crate) fn load(controls: &[ControlObject]) -> Result<Self, ControlError> {
        let mut run = Self(Vec::new());
        let there = available();
        for control in controls {
            if !there.contains(&control.kernel_name) && !run.0.contains(&control.kernel_name) {
                load(control)?;
                run.0.push(control.kernel_name.clone());
            }
        }
        Ok(run)
    }
}

impl Drop for LoadedForRun {
    fn drop(&mut self) {
        for name in &self.0 {
            // Nothing can be done about one that somebody else has removed already.
            let _ = unload(name);
        }
    }
}
