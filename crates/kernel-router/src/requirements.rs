//! Kernel features that a network needs, and differences from our router.

use super::commands::bucket;
use super::layout::{Discipline, Layout};
use super::{KernelRouterError, commands};
use fairwind_kernel_settings::Note;
use fairwind_linux as linux;
use fairwind_linux::KernelError;
use fairwind_qdisc::{Impairments, tc};
use fairwind_scenario::{Experiment, Link, Qdisc};
use fairwind_units::{ByteCount, Ratio};
use std::collections::BTreeMap;

/// A part of the kernel.
#[derive(Clone, Copy)]
enum KernelFeature {
    /// Pairs of virtual devices.
    Ethernet,
    /// A queue discipline of this name.
    Discipline(&'static str),
}

/// Queue disciplines: what each is for, and parameters with which one can be tried.
const DISCIPLINES: [(&str, &str, &str); 19] = [
    ("htb", "gives a link its rate", "default 1"),
    ("hfsc", "gives classes their service curves", ""),
    ("pfifo", "limits a queue in packets", "limit 9"),
    ("bfifo", "limits a queue in bytes", "limit 9000"),
    ("netem", "delays and loses packets", "delay 1ms"),
    ("tbf", "shapes to a rate", "rate 1mbit burst 1600 limit 9000"),
    ("red", "drops early", "limit 60000 min 5000 max 15000 avpkt 1000 burst 9"),
    ("choke", "drops flows that do not respond", "limit 100 bandwidth 1mbit"),
    ("codel", "limits the waiting time", ""),
    ("pie", "limits the waiting time", ""),
    ("dualpi2", "limits the waiting time of two queues", ""),
    ("sfq", "serves flows in turn", ""),
    ("pfifo_fast", "serves three bands in order", ""),
    ("fq", "serves flows in turn", ""),
    ("fq_codel", "serves flows in turn", ""),
    ("fq_pie", "serves flows in turn", ""),
    ("cake", "serves flows in turn", ""),
    ("drr", "serves classes in turn", ""),
    ("prio", "serves bands in order", ""),
];

impl KernelFeature {
    fn description(self) -> (&'static str, &'static str) {
        match self {
            Self::Ethernet => ("joins namespaces", ""),
            Self::Discipline(name) => {
                let known = DISCIPLINES.iter().find(|(known, ..)| *known == name);
                known.map_or(("holds packets", ""), |(_, purpose, trial)| (*purpose, *trial))
            }
        }
    }

    /// A command that succeeds where the kernel has it, on the device `trial`.
    fn trial(self) -> String {
        match self {
            Self::Ethernet => "true".to_owned(),
            Self::Discipline(name) => {
                let (_, parameters) = self.description();
                format!("tc qdisc add dev trial root handle 1: {name} {parameters}")
            }
        }
    }

    fn missing(self) -> KernelRouterError {
        let (purpose, _) = self.description();
        let (part, module, option) = match self {
            Self::Ethernet => {
                ("virtual Ethernet (veth)".to_owned(), "veth".to_owned(), "VETH".to_owned())
            }
            Self::Discipline(name) => {
                let file = if matches!(name, "pfifo" | "bfifo") { "fifo" } else { name };
                let option = format!("NET_SCH_{}", file.to_uppercase());
                (format!("queue discipline {name}"), format!("sch_{file}"), option)
            }
        };
        let instead = match self {
            Self::Discipline("netem") => ", or have rtt = \"0 ms\" and no loss",
            _ => "",
        };
        let option = format!("CONFIG_{option}");
        KernelRouterError::Missing { part, purpose, module, option, instead }
    }
}

/// Refuses unsupported queues, and tries every needed part in a temporary namespace.
pub(super) fn check(layout: &Layout) -> Result<(), KernelRouterError> {
    let mut queues = layout.disciplines().filter_map(|discipline| match discipline {
        Discipline::Rate { queue, .. } => Some(queue),
        _ => None,
    });
    if let Some(what) = queues.find_map(commands::unsupported) {
        return Err(KernelRouterError::Unsupported { what });
    }
    let mut needed = vec![KernelFeature::Ethernet];
    for discipline in layout.disciplines() {
        match discipline {
            Discipline::None => {}
            Discipline::Delay { .. } => needed.push(KernelFeature::Discipline("netem")),
            Discipline::Rate { rate, queue, .. } => {
                needed.extend(rate.map(|_| KernelFeature::Discipline("htb")));
                collect(queue, &mut needed);
            }
        }
    }
    linux::in_a_thread(|| {
        linux::enter_new_network()?;
        needed.iter().try_for_each(|part| try_out(*part))
    })
}

/// Whether programs at tracepoints see all that the queues of this network do, and can be loaded. They see no marks, and
/// not why a packet was dropped.
pub(super) fn are_programs_enough(layout: &Layout) -> bool {
    let is_tail_drop = |discipline: &Discipline| match discipline {
        Discipline::Rate { queue, .. } => drops_at_tail(queue),
        Discipline::None | Discipline::Delay { .. } => true,
    };
    layout.disciplines().all(is_tail_drop) && fairwind_bpf::availability().is_ok()
}

fn drops_at_tail(queue: &Qdisc) -> bool {
    let own = queue.is_fifo() || matches!(queue, Qdisc::Tbf(_) | Qdisc::Htb(_));
    own && queue.children().into_iter().all(drops_at_tail)
}

/// Kernel features that `queue` and all below it need; unsupported queues were refused before.
fn collect(queue: &Qdisc, parts: &mut Vec<KernelFeature>) {
    parts.push(KernelFeature::Discipline(queue.name()));
    queue.children().into_iter().for_each(|child| collect(child, parts));
}

fn try_out(part: KernelFeature) -> Result<(), KernelRouterError> {
    let trial = part.trial();
    let text = format!(
        "set -e\nip link show trial >/dev/null 2>&1 || ip link add trial type veth peer name other\n\
         {trial}\ntc qdisc del dev trial root 2>/dev/null || true"
    );
    let failed = |reason: String| KernelError::Command { command: trial.clone(), reason };
    let output = linux::shell(&text, None).map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("not found") {
        // The shell's own words: the program is missing, not the kernel's part.
        return Err(failed(format!("{} (is iproute2 installed?)", said.trim())).into());
    }
    Err(part.missing())
}

/// Why the kernel path cannot have the impairments of `link`; `None` if it can.
pub fn unsupported_impairments(link: &Link) -> Option<&'static str> {
    let Impairments { loss, .. } = &link.impairments;
    let losses = Impairments { loss: loss.clone(), ..Impairments::default() };
    if link.impairments != losses {
        return Some("the kernel path sets only the losses of netem");
    }
    match loss {
        Some(loss) if tc::print_loss(loss).is_none() => {
            Some("netem loses no packets by a record or by their numbers")
        }
        Some(_) if link.loss != Ratio::ZERO => {
            Some("a link has one netem on the kernel path: set loss or impairments.loss")
        }
        _ => None,
    }
}

/// How packets pass a link with a rate, where htb makes the rate; once for each bucket.
pub fn differences(experiment: &Experiment) -> Vec<Note> {
    let network = &experiment.network;
    let mut links: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for link in &network.links {
        let Some(rate) = link.rate else { continue };
        let packet = network.mtu + ByteCount::new(link.overhead_bytes.into());
        links.entry(bucket(rate, packet)).or_default().push(&link.name);
    }
    let remark = |(bytes, links): (u64, Vec<&str>)| Note {
        key: "path.router".to_owned(),
        text: format!(
            "htb on {}: packets leave its queue as soon as its rate allows, so they are earlier by \
             their own serialisation time; and after a pause up to {bytes} bytes pass at once",
            links.join(" and ")
        ),
    };
    links.into_iter().map(remark).collect()
}

#[cfg(test)]
mod tests {
    use super::KernelFeature;
    use fairwind_scenario::Document;

    #[test]
    fn missing_discipline_is_named_with_its_module() {
        let missing = |part: KernelFeature| part.missing().to_string();
        let packets = missing(KernelFeature::Discipline("pfifo"));
        assert!(packets.contains("queue discipline pfifo, which limits a queue"), "{packets}");
        assert!(packets.contains("`modprobe sch_fifo`"), "{packets}");
        let fair = missing(KernelFeature::Discipline("fq_codel"));
        assert!(fair.contains("CONFIG_NET_SCH_FQ_CODEL; or"), "{fair}");
        let delay = missing(KernelFeature::Discipline("netem"));
        assert!(delay.contains("CONFIG_NET_SCH_NETEM, or have rtt"), "{delay}");
        let device = missing(KernelFeature::Ethernet);
        assert!(device.contains("(veth), which joins") && device.contains("CONFIG_VETH"));
    }

    #[test]
    fn bucket_difference_is_reported_once_per_rate() {
        let text = r#"
            name = "kernel"
            duration = "1 s"
            [path]
            rate = "100 Mbit/s"
            rtt = "0 ms"
            router = "kernel"
            queue = { limit = "20 packets" }
            [[flows]]
            name = "greedy"
            workload = { kind = "greedy" }
        "#;
        let document = Document::parse("kernel.toml", text).expect("it is valid");
        let grid = document.grid().expect("a grid");
        let found = super::differences(&document.experiment(&grid[0]).expect("it is complete"));
        assert_eq!(found.len(), 1, "{found:?}");
        // 100 Mbit/s bring 2500 bytes in 0.2 ms.
        assert!(found[0].text.contains("2500 bytes"), "{found:?}");
    }
}
