//! A scenario's `tcp` tables as settings of the running kernel: sysctls, route attributes, device attributes and socket
//! options, or the reason why this kernel does not support them.
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
//! Everything is decided before a run, and all unsupported settings are reported at once. A socket option is preferred to
//! a setting of the host, so that several groups can share a host. Settings of a host must be equal for all its groups.
//!
//! | module | concern |
//! |---|---|
//! | `kernel` | version, options and default sysctls of the running kernel |
//! | `keys` | one rule for each key: the table of the reference page |
//! | `endpoint` | settings of one end of a group, and unsupported ones |
//! | `hosts` | the ends of all groups become hosts, which must agree |
//! | `controls` | congestion controls in C, loaded into the kernel |

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

pub mod controls;
mod endpoint;
mod hosts;
mod kernel;
mod keys;

pub use endpoint::{Note, UnsupportedSetting, UnsupportedSettings};
pub use hosts::{GroupSettings, HostSettings, Settings, of};
pub use kernel::Kernel;
pub use keys::{Key, keys};
