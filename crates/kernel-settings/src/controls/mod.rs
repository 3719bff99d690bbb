//! Congestion controls in C in the running kernel: loaded, listed, removed.
//!
//! A loaded control stays after the process has ended, until it is removed or the machine restarts. A control that was
//! loaded for runs is removed by the last run that uses it. Loading needs root and a build with the feature `ebpf`.
//!
//! | module | concern |
//! |---|---|
//! | `loader` | objects into the kernel and out of it |
//! | `loadable` | controls that a scenario could have, by name |
//! | `registry` | which object is loaded under which name, and which runs use it |
//! | `error` | why the kernel refuses one |

mod error;
mod loadable;
#[cfg(feature = "ebpf")]
mod loader;
#[cfg(not(feature = "ebpf"))]
#[path = "no_loader.rs"]
mod loader;
mod registry;

pub use error::ControlError;
pub use loadable::Missing;
pub use loadable::{ControlObject, Loadable};
pub use loader::loaded;
pub use registry::incompatibility;
pub use registry::{LoadedForRun, orphaned, remove_orphaned};

use fairwind_bpf::BpfError;
use fairwind_linux as linux;

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
    let Ok(types) = std::fs::read(TYPES) else {
        return Some(ControlError::Unavailable(BpfError::NoKernelTypes));
    };
    if !cfg!(feature = "ebpf") {
        return Some(ControlError::Unavailable(BpfError::NotBuilt));
    }
    if !types.windows(SLOT.len()).any(|window| window == SLOT) {
        return Some(ControlError::NoSlot);
    }
    (!linux::is_root()).then_some(ControlError::NotRoot)
}

/// Loads a congestion control into the running kernel, where it stays when this process ends.
///
/// # Errors
/// What stands in the way, with the verifier's words where it refuses the program.
pub fn load(control: &ControlObject) -> Result<(), ControlError> {
    loader::install(control)?;
    registry::stays(control)
}

/// Removes a congestion control that was loaded by eBPF, by its name in the kernel. Connections that have it keep it.
///
/// # Errors
/// If there is none of this name, or it may not be removed.
pub fn unload(kernel_name: &str) -> Result<(), ControlError> {
    loader::remove(kernel_name)?;
    registry::forget(kernel_name);
    Ok(())
}
