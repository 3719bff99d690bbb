//! Queue disciplines, and how one is built from its description.
//!
//! `discipline` is the interface; every other module is a discipline or a family of them.

mod cake;
mod classful;
mod codel;
mod discipline;
mod dualpi2;
mod fifo;
mod flow_queueing;
mod fq;
mod hfsc;
mod htb;
mod pfifo_fast;
mod pie;
mod red;
mod sfq;
mod tbf;

pub use classful::FlowGroups;
pub(crate) use discipline::packet_count;
pub use discipline::{DequeueResult, QueueActions, QueueDiscipline, QueuedPacket};
pub use fifo::Fifo;
pub(crate) use fifo::FifoLimit;

use cake::Cake;
use classful::{Drr, Prio};
use codel::Codel;
use dualpi2::Dualpi2;
use fairwind_qdisc::Qdisc;
use flow_queueing::{FqCodel, FqPie};
use fq::Fq;
use hfsc::Hfsc;
use htb::Htb;
use pfifo_fast::PfifoFast;
use pie::Pie;
use red::{Choke, Red};
use sfq::Sfq;
use tbf::Tbf;

/// Builds the discipline that `queue` describes. All its random choices are drawn from `seed`; filters look up flow
/// groups in `groups`.
///
/// # Panics
/// If the description does not pass its own check.
pub fn build_discipline(queue: &Qdisc, seed: u64, groups: &FlowGroups) -> Box<dyn QueueDiscipline> {
    let child = |queue: &Qdisc, seed| build_discipline(queue, seed, groups);
    match queue {
        Qdisc::Unlimited {} | Qdisc::Pfifo { .. } | Qdisc::Bfifo { .. } => {
            Box::new(Fifo::new(queue).expect("it is first in, first out"))
        }
        Qdisc::Prio(prio) => Box::new(Prio::new(prio, seed, groups, &child)),
        Qdisc::Tbf(tbf) => Box::new(Tbf::new(tbf, seed, &child)),
        Qdisc::Red(red) => Box::new(Red::new(red, seed, &child)),
        Qdisc::Pie(pie) => Box::new(Pie::new(pie, seed)),
        Qdisc::Choke(choke) => Box::new(Choke::new(choke, seed)),
        Qdisc::PfifoFast(fast) => Box::new(PfifoFast::new(fast)),
        Qdisc::Fq(fq) => Box::new(Fq::new(fq, seed)),
        Qdisc::Sfq(sfq) => Box::new(Sfq::new(sfq, seed)),
        Qdisc::FqCodel(fq_codel) => Box::new(FqCodel::new(fq_codel, seed)),
        Qdisc::FqPie(fq_pie) => Box::new(FqPie::new(fq_pie, seed)),
        Qdisc::Drr(drr) => Box::new(Drr::new(drr, seed, groups, &child)),
        Qdisc::Htb(htb) => Box::new(Htb::new(htb, seed, groups, &child)),
        Qdisc::Hfsc(hfsc) => Box::new(Hfsc::new(hfsc, seed, groups, &child)),
        Qdisc::Dualpi2(dualpi2) => Box::new(Dualpi2::new(dualpi2, seed)),
        Qdisc::Codel(codel) => Box::new(Codel::new(codel)),
        Qdisc::Cake(cake) => Box::new(Cake::new(cake, seed)),
    }
}
