//! BBR: the window and the rate follow a model of the path, not losses.
//!
//! Each version implements [`CongestionControl`](crate::CongestionControl) as an algorithm from outside would, so
//! it sees what a kernel's sees and is called when a kernel's is.
//!
//! | module | concern |
//! |---|---|
//! | `filter` | the greatest of late |
//! | `v1` | BBR as Linux has it: the model, and what follows from it |
//! | `v1::policer` | noticing that somebody limits the rate in the long run |
//! | `v1::aggregation` | acknowledgments that come in heaps |

mod filter;
mod v1;

pub use v1::Bbr1;

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
