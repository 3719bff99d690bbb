//! From the description of a discipline to the discipline.

use super::{Fifo, QueueDiscipline};
use fairwind_qdisc::Qdisc;

/// The discipline that `queue` describes, with all its random choices drawn from `seed`.
///
/// # Panics
/// On a description that does not pass its own check.
pub fn discipline(queue: &Qdisc, seed: u64) -> Box<dyn QueueDiscipline> {
    let _ = seed;
    match queue {
        Qdisc::Unlimited {} | Qdisc::Pfifo { .. } | Qdisc::Bfifo { .. } => {
            Box::new(Fifo::new(queue).expect("it is first in, first out"))
        }
        other => unreachable!("{} is not built yet", other.name()),
    }
}
