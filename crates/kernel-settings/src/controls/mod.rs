//! Congestion controls in C in the running kernel: loading, listing, removal.
//!
//! A loaded control stays after the process has ended, until it is removed or the machine restarts. A control that was
//! loaded for runs is removed by the last run that uses it. Loading needs root and a build with the feature `ebpf`.
//!
//! | module | concern |
//! |---|---|
//! | `loader` | objects into the kernel and out of it |
//! | `registry` | which object is loaded under which name, and which runs use it |

#[cfg(feature = "ebpf")]
mod loader;
#[cfg(not(feature = "ebpf"))]
#[path = "no_loader.rs"]
mod loader;
mod registry;

pub use loader::loaded;
pub use registry::{LoadedForRun, incompatibility, orphaned, remove_orphaned};

use fairwind_bpf::BpfError;
use fairwind_linux as linux;
use std::collections::BTreeMap;
use std::path::PathBuf;
use thiserror::Error;

/// The running kernel's description of its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Its type for congestion controls by eBPF.
const SLOT: &[u8] = b"\0bpf_struct_ops_tcp_congestion_ops\0";

/// Names of the congestion controls that sockets may be given now.
pub fn available() -> Vec<String> {
    let names = linux::read_text("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names.split_whitespace().map(str::to_owned).collect()
}

/// The reason why congestion controls cannot be loaded here.
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
/// If the control cannot be loaded; with the verifier's log if it refuses the program.
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

/// A congestion control compiled for a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlObject {
    /// The name that scenarios have for it.
    pub name: String,
    /// The name under which the kernel knows it: `.name` of its table.
    pub kernel_name: String,
    /// The compiled object; empty if there is none, so that it can only be used where it is loaded already.
    pub object: Vec<u8>,
}

impl ControlObject {
    /// The repository's algorithm of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            kernel_name: fairwind_congestion::kernel_name_of(name)?,
            object: fairwind_congestion::object_of(name).unwrap_or_default().to_vec(),
        })
    }
}

/// The reason why the kernel cannot have a congestion control, and an alternative.
#[derive(Debug)]
pub struct Missing {
    /// What is missing.
    pub mechanism: String,
    /// What comes nearest.
    pub alternative: String,
}

/// Congestion controls that are loaded or can be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loadable {
    /// Kernels' names by those of scenarios.
    kernel_names: BTreeMap<String, String>,
    /// Which of them are only names: nothing was compiled.
    without_object: Vec<String>,
    /// Why none can be loaded.
    obstacle: Option<String>,
}

impl Loadable {
    /// The repository's and `others`, on this machine.
    pub fn here(others: &[ControlObject]) -> Self {
        let built_in = fairwind_congestion::names();
        let built_in = built_in.iter().filter_map(|name| ControlObject::built_in(name));
        let obstacle = obstacle().map(|obstacle| obstacle.to_string());
        let mut loadable = Self { obstacle, ..Self::default() };
        for control in built_in.chain(others.iter().cloned()) {
            if control.object.is_empty() {
                loadable.without_object.push(control.name.clone());
            }
            loadable.kernel_names.insert(control.name, control.kernel_name);
        }
        loadable
    }

    /// The kernel's name of the algorithm `name`, which is among `there` or can be loaded.
    pub fn kernel_name(
        &self,
        name: &str,
        is_there: impl Fn(&str) -> bool,
    ) -> Result<&str, Missing> {
        let Some(kernel_name) = self.kernel_names.get(name) else {
            return Err(Missing {
                mechanism: format!("there is no congestion control \"{name}\" in C"),
                alternative: format!("compile it first: fairwind congestion build {name}.c"),
            });
        };
        if is_there(kernel_name) {
            return Ok(kernel_name);
        }
        let mechanism = match &self.obstacle {
            Some(obstacle) => obstacle.clone(),
            None if self.without_object.iter().any(|one| one == name) => {
                "it was compiled for the simulator only".to_owned()
            }
            None => return Ok(kernel_name),
        };
        let alternative = format!(
            "as root: fairwind congestion load {name}; or run it in the simulator (--on sim)"
        );
        Err(Missing { mechanism, alternative })
    }
}

/// An error in loading or removing a congestion control.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// There is no eBPF here.
    #[error("congestion controls cannot be loaded into the kernel: {0}")]
    Unavailable(BpfError),
    /// The kernel takes no congestion controls.
    #[error(
        "this kernel takes no congestion controls by eBPF: it needs Linux 5.13 or newer with CONFIG_BPF_JIT"
    )]
    NoSlot,
    /// The caller is not root.
    #[error("loading and removing congestion controls requires root; run with sudo")]
    NotRoot,
    /// The kernel has one of this name.
    #[error(
        "the kernel already has a congestion control \"{0}\": `fairwind congestion unload` removes one that was \
         loaded; if it is the kernel's own, give yours another `.name` in its table"
    )]
    Taken(String),
    /// A run under way has another one of this name.
    #[error(
        "a run under way has another version of the congestion control \"{0}\" in the kernel: wait for its end, or \
         give yours another `.name` in its table"
    )]
    OfAnotherRun(String),
    /// Another one of this name was loaded to stay.
    #[error(
        "the kernel has another version of the congestion control \"{0}\", which was loaded to stay: `fairwind \
         congestion unload {0}` removes it, and a run loads its own; or give yours another `.name` in its table"
    )]
    OtherStays(String),
    /// The kernel has an unknown congestion control of this name.
    #[error(
        "the kernel has a congestion control \"{0}\", and it may be another one: if another program \
         has loaded it, remove it with `fairwind congestion unload {0}`; if it is the kernel's own, \
         choose another `.name` for yours"
    )]
    Unknown(String),
    /// Two of one run have one name.
    #[error(
        "the congestion controls \"{first}\" and \"{second}\" have the same name in the kernel, \"{kernel_name}\": \
         give one of them another `.name` in its table"
    )]
    OneNameTwice {
        /// As scenarios have the one.
        first: String,
        /// As scenarios have the other.
        second: String,
        /// The kernel's name.
        kernel_name: String,
    },
    /// The list of loaded congestion controls cannot be written.
    #[error("{path}: {reason}; the file lists the runs that use a congestion control", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The object is no congestion control.
    #[error(
        "{name}: its object has no table of hooks in a section SEC(\".struct_ops\"): build it from its C \
         source with `fairwind congestion build`"
    )]
    NoTable {
        /// The algorithm.
        name: String,
    },
    /// The kernel's verifier refuses it.
    #[error(
        "{words}\n{name} is refused by the kernel's verifier: the last lines above name the instruction \
         and the reason; usual reasons are a loop without a constant bound, a pointer that was not \
         checked, and a field of the sender that may not be written"
    )]
    Refused {
        /// The algorithm.
        name: String,
        /// Messages of libbpf and of the verifier.
        words: String,
    },
    /// The verifier accepts it, but the kernel does not register it.
    #[error(
        "{words}\n{name} passes the kernel's verifier, but the kernel does not register it as \"{kernel_name}\": `.name` of \
         its table has to be one that the kernel has not yet, of at most 15 letters, and the table needs ssthresh, \
         undo_cwnd and cong_avoid or cong_control"
    )]
    NotRegistered {
        /// The algorithm.
        name: String,
        /// The name under which the kernel was to know it.
        kernel_name: String,
        /// Messages of libbpf.
        words: String,
    },
    /// It cannot be removed.
    #[error("the kernel does not remove the congestion control \"{name}\": {reason}")]
    Kept {
        /// The name.
        name: String,
        /// Why.
        reason: String,
    },
    /// There is none of this name that could be removed.
    #[error("no congestion control \"{name}\" was loaded by eBPF; loaded are {}", listed(.there))]
    NotLoaded {
        /// The name.
        name: String,
        /// What was.
        there: Vec<String>,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loadable(obstacle: Option<&str>) -> Loadable {
        Loadable {
            kernel_names: [("mine".to_owned(), "fw_mine".to_owned())].into(),
            without_object: Vec::new(),
            obstacle: obstacle.map(str::to_owned),
        }
    }

    #[test]
    fn unloadable_control_is_used_if_present() {
        let refused = loadable(Some("not root"));
        assert_eq!(refused.kernel_name("mine", |name| name == "fw_mine").ok(), Some("fw_mine"));
        let missing = refused.kernel_name("mine", |_| false).expect_err("it is not there");
        assert_eq!(missing.mechanism, "not root");
        assert_eq!(loadable(None).kernel_name("mine", |_| false).ok(), Some("fw_mine"));
    }

    #[test]
    fn uncompiled_control_error_names_build_command() {
        let missing = loadable(None).kernel_name("other", |_| true).expect_err("it is unknown");
        assert!(missing.alternative.contains("fairwind congestion build other.c"));
    }
}
