//! What a scenario's `tcp` tables ask of the running kernel: sysctls, route attributes and device
//! attributes of hosts, options of sockets; or why this kernel cannot have it.
//!
//! ```
//! use fairwind_kernel_settings::{self as settings, Kernel};
//! let text = r#"
//!     name = "a thin stream"
//!     duration = "10 s"
//!     path = { rate = "1 Mbit/s", rtt = "100 ms", queue = { limit = "1 bdp" } }
//!     [[flows]]
//!     name = "thin"
//!     workload = { kind = "thin", payload = "120 B", interval = "100 ms" }
//!     tcp = { linear_timeouts = true, loss_detection = "forward" }
//! "#;
//! let plan = fairwind_scenario::Document::parse("thin.toml", text)?.plan()?;
//! let refused = settings::of(&plan.cells[0].experiment, &Kernel::running()).unwrap_err();
//! assert_eq!(refused.refusals[0].key, "flows.thin.tcp.loss_detection");
//! # Ok::<(), fairwind_scenario::ScenarioErrors>(())
//! ```
//!
//! Everything is decided before anything runs, and everything that cannot be had is told at once.
//! Where a socket option does, it is preferred: several groups may then share a host. What only a
//! host can be told must be the same for all groups that share the host.
//!
//! | module | concern |
//! |---|---|
//! | `kernel` | what the running kernel is and has |
//! | `keys` | one rule for each key: the table that the reference is made from |
//! | `end` | one end of a group: what its rules have asked for and refused |
//! | `hosts` | the ends of all groups become hosts, which must agree |
//! | `usual` | sysctls as the kernel has them out of the box, whatever the machine's are |
//! | `refusal` | what cannot be had, and what comes nearest |

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

pub mod controls;
mod endpoint;
mod hosts;
mod kernel;
mod keys;

pub use endpoint::{UnsupportedSetting, UnsupportedSettings};
pub use hosts::{GroupSettings, HostSettings, Note, Settings, of};
pub use kernel::Kernel;
pub use keys::{Key, keys};
