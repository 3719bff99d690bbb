//! Kernel features that a network needs, and differences from our router.

use super::commands::bucket;
use super::layout::{Discipline, Layout};
use super::{KernelRouterError, commands};
use fairwind_kernel_settings::Note;
use fairwind_linux as linux;
use fairwind_linux::KernelError;
use fairwind_scenario::{Experiment, Qdisc};
use fairwind_units::ByteCount;
use std::collections::BTreeMap;

/// A part of the kernel.
struct KernelFeature {
    name: &'static str,
    purpose: &'static str,
    module: &'static str,
    option: &'static str,
    instead: &'static str,
    /// A command that succeeds where the kernel has it, on the device `trial`.
    trial: &'static str,
}

const ETHERNET: KernelFeature = KernelFeature {
    name: "virtual Ethernet (veth)",
    purpose: "joins namespaces",
    module: "veth",
    option: "CONFIG_VETH",
    instead: "",
    trial: "true",
};
const RATE: KernelFeature = KernelFeature {
    name: "queue discipline htb",
    purpose: "gives a link its rate",
    module: "sch_htb",
    option: "CONFIG_NET_SCH_HTB",
    instead: "",
    trial: "tc qdisc add dev trial root handle 1: htb default 1",
};
const PACKETS: KernelFeature = KernelFeature {
    name: "queue discipline pfifo",
    purpose: "limits a queue in packets",
    module: "sch_fifo",
    option: "CONFIG_NET_SCH_FIFO",
    instead: "",
    trial: "tc qdisc add dev trial root handle 1: pfifo limit 9",
};
const BYTES: KernelFeature = KernelFeature {
    name: "queue discipline bfifo",
    trial: "tc qdisc add dev trial root handle 1: bfifo limit 9000",
    purpose: "limits a queue in bytes",
    ..PACKETS
};
const DELAY: KernelFeature = KernelFeature {
    name: "queue discipline netem",
    purpose: "delays and loses packets",
    module: "sch_netem",
    option: "CONFIG_NET_SCH_NETEM",
    instead: ", or have rtt = \"0 ms\" and no loss",
    trial: "tc qdisc add dev trial root handle 1: netem delay 1ms",
};
const BUCKET: KernelFeature = KernelFeature {
    name: "queue discipline tbf",
    purpose: "shapes to a rate",
    module: "sch_tbf",
    option: "CONFIG_NET_SCH_TBF",
    instead: "",
    trial: "tc qdisc add dev trial root handle 1: tbf rate 1mbit burst 1600 limit 9000",
};

/// A discipline that a trial of its name, or of these commands, finds.
macro_rules! discipline {
    ($constant:ident, $name:literal, $option:literal, $purpose:literal $(, $parameters:literal)?) => {
        const $constant: KernelFeature = KernelFeature {
            name: concat!("queue discipline ", $name),
            purpose: $purpose,
            module: concat!("sch_", $name),
            option: concat!("CONFIG_NET_SCH_", $option),
            instead: "",
            trial: concat!("tc qdisc add dev trial root handle 1: ", $name $(, " ", $parameters)?),
        };
    };
}

discipline!(RED, "red", "RED", "drops early", "limit 60000 min 5000 max 15000 avpkt 1000 burst 9");
discipline!(
    CHOKE,
    "choke",
    "CHOKE",
    "drops flows that do not respond",
    "limit 100 bandwidth 1mbit"
);
discipline!(CODEL, "codel", "CODEL", "limits the waiting time");
discipline!(PIE, "pie", "PIE", "limits the waiting time");
discipline!(DUALPI2, "dualpi2", "DUALPI2", "limits the waiting time of two queues");
discipline!(SFQ, "sfq", "SFQ", "serves flows in turn");
discipline!(FQ_CODEL, "fq_codel", "FQ_CODEL", "serves flows in turn");
discipline!(FQ_PIE, "fq_pie", "FQ_PIE", "serves flows in turn");
discipline!(CAKE, "cake", "CAKE", "serves flows in turn");
discipline!(DRR, "drr", "DRR", "serves classes in turn");
discipline!(PRIO, "prio", "PRIO", "serves bands in order");

/// Refuses unsupported queues, and tries every needed part in a temporary namespace.
pub(super) fn check(layout: &Layout) -> Result<(), KernelRouterError> {
    let mut queues = layout.disciplines().filter_map(|discipline| match discipline {
        Discipline::Rate { queue, .. } => Some(queue),
        _ => None,
    });
    if let Some(what) = queues.find_map(commands::unsupported) {
        return Err(KernelRouterError::Unsupported { what });
    }
    let needed: Vec<_> =
        std::iter::once(&ETHERNET).chain(layout.disciplines().flat_map(parts_of)).collect();
    std::thread::scope(|scope| {
        let trial = scope.spawn(|| {
            linux::enter_new_network()?;
            needed.iter().try_for_each(|part| try_out(part))
        });
        trial.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
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

fn parts_of(discipline: &Discipline) -> Vec<&'static KernelFeature> {
    match discipline {
        Discipline::None => Vec::new(),
        Discipline::Delay { .. } => vec![&DELAY],
        Discipline::Rate { rate, queue, .. } => {
            let mut parts: Vec<_> = rate.iter().map(|_| &RATE).collect();
            collect(queue, &mut parts);
            parts
        }
    }
}

/// Kernel features that `queue` and all below it need; unsupported queues were refused before.
fn collect(queue: &Qdisc, parts: &mut Vec<&'static KernelFeature>) {
    parts.push(match queue {
        Qdisc::Unlimited {} | Qdisc::Pfifo { .. } => &PACKETS,
        Qdisc::Bfifo { .. } => &BYTES,
        Qdisc::Htb(_) => &RATE,
        Qdisc::Tbf(_) => &BUCKET,
        Qdisc::Red(_) => &RED,
        Qdisc::Choke(_) => &CHOKE,
        Qdisc::Codel(_) => &CODEL,
        Qdisc::Pie(_) => &PIE,
        Qdisc::Dualpi2(_) => &DUALPI2,
        Qdisc::Sfq(_) => &SFQ,
        Qdisc::FqCodel(_) => &FQ_CODEL,
        Qdisc::FqPie(_) => &FQ_PIE,
        Qdisc::Cake(_) => &CAKE,
        Qdisc::Drr(_) => &DRR,
        Qdisc::Prio(_) => &PRIO,
    });
    queue.children().into_iter().for_each(|child| collect(child, parts));
}

fn try_out(part: &KernelFeature) -> Result<(), KernelRouterError> {
    let text = format!(
        "set -e\nip link show trial >/dev/null 2>&1 || ip link add trial type veth peer name other\n\
         {}\ntc qdisc del dev trial root 2>/dev/null || true",
        part.trial
    );
    let output = linux::shell(&text, None).map_err(|error| KernelError::Command {
        command: part.trial.to_owned(),
        reason: error.to_string(),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("not found") {
        // The shell's own words: the program is missing, not the kernel's part.
        let command = part.trial.to_owned();
        let reason = format!("{} (is iproute2 installed?)", said.trim());
        return Err(KernelError::Command { command, reason }.into());
    }
    let KernelFeature { name, purpose, module, option, instead, .. } = *part;
    Err(KernelRouterError::Missing { part: name, purpose, module, option, instead })
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
    use fairwind_scenario::Document;

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
