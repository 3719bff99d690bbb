//! A queue of a scenario as commands for `tc`, and what cannot be told to any kernel.

use fairwind_qdisc::{Htb, Tbf};
use fairwind_scenario::Qdisc;
use std::fmt::Write as _;

/// Room for everything.
const UNLIMITED: u32 = 1_000_000;

/// The commands that put `queue` below `parent` (`root`, `parent 1:1`) of `device`, with this handle; those of its
/// children have the handles above.
pub(super) fn commands(device: &str, parent: &str, handle: u32, queue: &Qdisc) -> String {
    let mut tree = Tree { device, next_handle: handle, text: String::new() };
    tree.put(parent, queue);
    tree.text
}

/// What of `queue` no kernel can be told, for a sentence; none where everything can.
pub(super) fn untold(queue: &Qdisc) -> Option<String> {
    let own = match queue {
        Qdisc::Unlimited {} | Qdisc::Pfifo { .. } | Qdisc::Bfifo { .. } => None,
        Qdisc::Tbf(tbf) if tbf.granularity.is_zero() => None,
        Qdisc::Htb(htb) if htb.granularity.is_zero() => {
            let has_filters = htb.classes.iter().any(|class| !class.filters.is_empty());
            has_filters.then(|| "filters of htb's classes, which name groups of flows".to_owned())
        }
        Qdisc::Tbf(_) | Qdisc::Htb(_) => {
            Some(format!("the granularity of {}, which the kernel's timers decide", queue.name()))
        }
        other => Some(format!("{} and its parameters", other.name())),
    };
    own.or_else(|| queue.children().into_iter().find_map(untold))
}

/// A tree of disciplines being told.
struct Tree<'a> {
    device: &'a str,
    next_handle: u32,
    text: String,
}

impl Tree<'_> {
    fn put(&mut self, parent: &str, queue: &Qdisc) {
        let handle = self.next_handle;
        self.next_handle += 1;
        let parameters = parameters(queue);
        let device = self.device;
        let _ = writeln!(
            self.text,
            "tc qdisc replace dev {device} {parent} handle {handle:x}: {parameters}"
        );
        match queue {
            Qdisc::Tbf(Tbf { child: Some(child), .. }) => {
                self.put(&format!("parent {handle:x}:1"), child);
            }
            Qdisc::Htb(htb) => self.put_classes(handle, htb),
            _ => {}
        }
    }

    fn put_classes(&mut self, handle: u32, htb: &Htb) {
        let place = |index: Option<usize>| match index {
            Some(index) => format!("{handle:x}:{:x}", index + 1),
            None => format!("{handle:x}:"),
        };
        for (index, class) in htb.classes.iter().enumerate() {
            let _ = writeln!(
                self.text,
                "tc class replace dev {} parent {} classid {} htb rate {}bit ceil {}bit burst {} \
                 cburst {} prio {} quantum {}",
                self.device,
                place(class.parent),
                place(Some(index)),
                class.rate.as_bits_per_second(),
                class.ceil.as_bits_per_second(),
                class.burst_bytes,
                class.ceil_burst_bytes,
                class.priority,
                class.quantum_bytes,
            );
            if let Some(child) = &class.child {
                self.put(&format!("parent {}", place(Some(index))), child);
            }
        }
    }
}

fn parameters(queue: &Qdisc) -> String {
    match queue {
        Qdisc::Unlimited {} => format!("pfifo limit {UNLIMITED}"),
        Qdisc::Pfifo { limit_packets } => format!("pfifo limit {limit_packets}"),
        Qdisc::Bfifo { limit_bytes } => format!("bfifo limit {limit_bytes}"),
        Qdisc::Tbf(tbf) => {
            let peak = tbf.peak_rate.map(|rate| {
                let mtu = tbf.mtu_bytes.unwrap_or(1500);
                format!(" peakrate {}bit mtu {mtu}", rate.as_bits_per_second())
            });
            format!(
                "tbf rate {}bit burst {} limit {}{}",
                tbf.rate.as_bits_per_second(),
                tbf.burst_bytes,
                tbf.limit_bytes,
                peak.unwrap_or_default()
            )
        }
        Qdisc::Htb(htb) => {
            let default = htb.default_class.map_or(0, |index| index + 1);
            format!(
                "htb default {default:x} r2q {} direct_qlen {}",
                htb.rate_to_quantum, htb.direct_packets
            )
        }
        other => unreachable!("{} was refused before", other.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_qdisc::{Codel, Filter, HtbClass};
    use fairwind_units::{BitRate, Span};

    fn tbf() -> Tbf {
        Tbf {
            rate: BitRate::from_bits_per_second(1_000_000),
            burst_bytes: 1520,
            limit_bytes: 9000,
            peak_rate: None,
            mtu_bytes: None,
            granularity: Span::ZERO,
            child: Some(Box::new(Qdisc::Pfifo { limit_packets: 63 })),
        }
    }

    fn htb() -> Htb {
        let class = |parent, child| HtbClass {
            name: String::new(),
            parent,
            rate: BitRate::from_bits_per_second(1_000_000),
            ceil: BitRate::from_bits_per_second(2_000_000),
            burst_bytes: 1600,
            ceil_burst_bytes: 1700,
            priority: 3,
            quantum_bytes: 1500,
            filters: Vec::new(),
            child,
        };
        Htb {
            classes: vec![class(None, None), class(Some(0), Some(Qdisc::Tbf(tbf())))],
            default_class: Some(1),
            rate_to_quantum: 10,
            direct_packets: 1000,
            granularity: Span::ZERO,
        }
    }

    #[test]
    fn trees_are_told_from_the_top_with_handles_of_their_own() {
        let text = commands("eth0", "root", 0x10, &Qdisc::Htb(htb()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "tc qdisc replace dev eth0 root handle 10: htb default 2 r2q 10 direct_qlen 1000",
                "tc class replace dev eth0 parent 10: classid 10:1 htb rate 1000000bit ceil 2000000bit \
                 burst 1600 cburst 1700 prio 3 quantum 1500",
                "tc class replace dev eth0 parent 10:1 classid 10:2 htb rate 1000000bit ceil 2000000bit \
                 burst 1600 cburst 1700 prio 3 quantum 1500",
                "tc qdisc replace dev eth0 parent 10:2 handle 11: tbf rate 1000000bit burst 1520 limit 9000",
                "tc qdisc replace dev eth0 parent 11:1 handle 12: pfifo limit 63",
            ]
        );
    }

    #[test]
    fn what_cannot_be_told_is_named_wherever_it_stands() {
        assert_eq!(untold(&Qdisc::Htb(htb())), None);
        let with = |change: fn(&mut Htb)| {
            let mut htb = htb();
            change(&mut htb);
            untold(&Qdisc::Htb(htb)).unwrap_or_default()
        };
        assert!(with(|htb| htb.classes[1].filters = vec![Filter::default()]).contains("filters"));
        assert!(with(|htb| htb.granularity = Span::from_millis(1)).contains("granularity of htb"));
        let codel = with(|htb| htb.classes[1].child = Some(Qdisc::Codel(Codel::default())));
        assert!(codel.contains("codel"), "{codel}");
    }
}
