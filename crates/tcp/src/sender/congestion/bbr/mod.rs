//! BBR: the window and the rate follow a model of the path, not losses.
//!
//! Each version implements [`CongestionControl`](crate::CongestionControl) as an algorithm from outside would, so
//! it sees what a kernel's sees and is called when a kernel's is.
//!
//! | module | concern |
//! |---|---|
//! | `arithmetic` | bandwidths and gains in whole numbers, bundles of the host, chance |
//! | `filter` | the greatest of late |
//! | `v1` | BBR as Linux has it: the model |
//! | `v1::cycle` | the end of start-up, draining, the cycle of gains |
//! | `v1::least_rtt` | looking for the least round trip |
//! | `v1::control` | the rate and the window |
//! | `v1::policer` | noticing that somebody limits the rate in the long run |
//! | `v1::aggregation` | acknowledgments that come in heaps |
//! | `v3` | BBR as the working group has it, which heeds losses |

mod arithmetic;
mod filter;
mod v1;
mod v3;

pub use v1::Bbr1;
pub use v3::Bbr3;

use super::plugged::{CongestionControl, ControlFactory, PluggedAlgorithm};
use std::sync::Arc;

/// Makes instances of one version.
#[derive(Debug)]
struct Version {
    name: &'static str,
    create: fn() -> Box<dyn CongestionControl>,
}

impl ControlFactory for Version {
    fn name(&self) -> &str {
        self.name
    }

    fn create(&self) -> Box<dyn CongestionControl> {
        (self.create)()
    }
}

/// Version 1, as Linux has it (`tcp_bbr.c`).
pub fn bbr1() -> PluggedAlgorithm {
    PluggedAlgorithm(Arc::new(Version { name: "bbr", create: || Box::new(Bbr1::new()) }))
}

/// Version 3 (draft-ietf-ccwg-bbr-06).
pub fn bbr3() -> PluggedAlgorithm {
    PluggedAlgorithm(Arc::new(Version { name: "bbr3", create: || Box::new(Bbr3::new()) }))
}
