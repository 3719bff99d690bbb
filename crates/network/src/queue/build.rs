//! From the description of a discipline to the discipline.

use super::cake::Cake;
use super::choke::Choke;
use super::codel::Codel;
use super::drr::Drr;
use super::dualpi2::Dualpi2;
use super::fq_codel::FqCodel;
use super::fq_pie::FqPie;
use super::htb::Htb;
use super::pie::Pie;
use super::prio::Prio;
use super::red::Red;
use super::sfq::Sfq;
use super::tbf::Tbf;
use super::{Fifo, FlowGroups, QueueDiscipline};
use fairwind_qdisc::Qdisc;

/// The discipline that `queue` describes, with all its random choices drawn from `seed`; filters that ask for a group
/// find it in `groups`.
///
/// # Panics
/// On a description that does not pass its own check.
pub fn discipline(queue: &Qdisc, seed: u64, groups: &FlowGroups) -> Box<dyn QueueDiscipline> {
    match queue {
        Qdisc::Unlimited {} | Qdisc::Pfifo { .. } | Qdisc::Bfifo { .. } => {
            Box::new(Fifo::new(queue).expect("it is first in, first out"))
        }
        Qdisc::Prio(prio) => Box::new(Prio::new(prio, seed, groups)),
        Qdisc::Tbf(tbf) => Box::new(Tbf::new(tbf, seed, groups)),
        Qdisc::Red(red) => Box::new(Red::new(red, seed, groups)),
        Qdisc::Pie(pie) => Box::new(Pie::new(pie, seed)),
        Qdisc::Choke(choke) => Box::new(Choke::new(choke, seed)),
        Qdisc::Sfq(sfq) => Box::new(Sfq::new(sfq, seed)),
        Qdisc::FqCodel(fq_codel) => Box::new(FqCodel::new(fq_codel, seed)),
        Qdisc::FqPie(fq_pie) => Box::new(FqPie::new(fq_pie, seed)),
        Qdisc::Drr(drr) => Box::new(Drr::new(drr, seed, groups)),
        Qdisc::Htb(htb) => Box::new(Htb::new(htb, seed, groups)),
        Qdisc::Dualpi2(dualpi2) => Box::new(Dualpi2::new(dualpi2, seed)),
        Qdisc::Codel(codel) => Box::new(Codel::new(codel)),
        Qdisc::Cake(cake) => Box::new(Cake::new(cake, seed)),
    }
}
