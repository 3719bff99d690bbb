//! From the description of a discipline to the discipline.

use super::codel::Codel;
use super::prio::Prio;
use super::tbf::Tbf;
use super::{Fifo, Groups, QueueDiscipline};
use fairwind_qdisc::Qdisc;

/// The discipline that `queue` describes, with all its random choices drawn from `seed`; filters that ask for a group
/// find it in `groups`.
///
/// # Panics
/// On a description that does not pass its own check.
pub fn discipline(queue: &Qdisc, seed: u64, groups: &Groups) -> Box<dyn QueueDiscipline> {
    match queue {
        Qdisc::Unlimited {} | Qdisc::Pfifo { .. } | Qdisc::Bfifo { .. } => {
            Box::new(Fifo::new(queue).expect("it is first in, first out"))
        }
        Qdisc::Prio(prio) => Box::new(Prio::new(prio, seed, groups)),
        Qdisc::Tbf(tbf) => Box::new(Tbf::new(tbf, seed, groups)),
        Qdisc::Codel(codel) => Box::new(Codel::new(codel)),
        other => unreachable!("{} is not built yet", other.name()),
    }
}
