//! Why a congestion control is not taken into the kernel, or not out of it.

use fairwind_bpf::BpfError;
use std::path::PathBuf;
use thiserror::Error;

/// Why a congestion control is not taken into the kernel, or not out of it.
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
    /// Somebody else than root asks.
    #[error("loading and removing congestion controls is root's business: run this as root (sudo)")]
    NotRoot,
    /// The kernel has one of this name.
    #[error(
        "the kernel has a congestion control \"{0}\" already: `fairwind congestion unload` removes one that \
         was loaded; beside the kernel's own one needs another `.name` in its table"
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
    /// Nobody knows what the kernel has under this name.
    #[error(
        "the kernel has a congestion control \"{0}\", and nothing tells that it is this one: `fairwind congestion \
         unload {0}` removes one that something else has loaded; beside the kernel's own, give yours another `.name` \
         in its table"
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
    /// What runs have loaded cannot be written down.
    #[error("{path}: {reason}; which runs have a congestion control is kept there", path = .path.display())]
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
        "{words}\n{name} is refused by the kernel's verifier: the last lines before say which instruction and why; \
         usual reasons are a loop without a constant bound, a pointer that was not checked, and a field of the \
         sender that may not be written"
    )]
    Refused {
        /// The algorithm.
        name: String,
        /// Messages of libbpf and of the verifier.
        words: String,
    },
    /// The verifier takes it, and the kernel's list of congestion controls does not.
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
    #[error("no congestion control \"{name}\" was loaded by eBPF; there are {}", listed(.there))]
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
