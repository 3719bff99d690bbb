//! Whether the running kernel has the parts that a network needs.

use super::KernelRouterError;
use super::wiring::{Discipline, Wiring};
use crate::namespace::shell;
use crate::{TestbedError, sys};
use fairwind_scenario::Qdisc;

/// A part of the kernel.
struct Part {
    name: &'static str,
    purpose: &'static str,
    module: &'static str,
    option: &'static str,
    instead: &'static str,
    /// A command that succeeds where the kernel has it, on the device `trial`.
    trial: &'static str,
}

const ETHERNET: Part = Part {
    name: "virtual Ethernet (veth)",
    purpose: "joins namespaces",
    module: "veth",
    option: "CONFIG_VETH",
    instead: "",
    trial: "true",
};
const RATE: Part = Part {
    name: "queue discipline htb",
    purpose: "gives a link its rate",
    module: "sch_htb",
    option: "CONFIG_NET_SCH_HTB",
    instead: "",
    trial: "tc qdisc add dev trial root handle 1: htb default 1",
};
const PACKETS: Part = Part {
    name: "queue discipline pfifo",
    purpose: "limits a queue in packets",
    module: "sch_fifo",
    option: "CONFIG_NET_SCH_FIFO",
    instead: "",
    trial: "tc qdisc add dev trial root handle 1: pfifo limit 9",
};
const BYTES: Part = Part {
    name: "queue discipline bfifo",
    trial: "tc qdisc add dev trial root handle 1: bfifo limit 9000",
    purpose: "limits a queue in bytes",
    ..PACKETS
};
const DELAY: Part = Part {
    name: "queue discipline netem",
    purpose: "delays and loses packets",
    module: "sch_netem",
    option: "CONFIG_NET_SCH_NETEM",
    instead: ", or have rtt = \"0 ms\" and no loss",
    trial: "tc qdisc add dev trial root handle 1: netem delay 1ms",
};

/// Tries every part that is needed, in a namespace for that alone.
pub(super) fn check(wiring: &Wiring) -> Result<(), KernelRouterError> {
    let mut needed = vec![&ETHERNET];
    for discipline in wiring.disciplines() {
        needed.extend(parts_of(discipline));
    }
    std::thread::scope(|scope| {
        let trial = scope.spawn(|| {
            sys::enter_new_network()?;
            needed.iter().try_for_each(|part| try_out(part))
        });
        trial.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn parts_of(discipline: &Discipline) -> Vec<&'static Part> {
    match discipline {
        Discipline::None => Vec::new(),
        Discipline::Delay { .. } => vec![&DELAY],
        Discipline::Rate { queue: Qdisc::Bfifo { .. }, .. } => vec![&RATE, &BYTES],
        Discipline::Rate { .. } => vec![&RATE, &PACKETS],
    }
}

fn try_out(part: &Part) -> Result<(), KernelRouterError> {
    let text = format!(
        "set -e\nip link show trial >/dev/null 2>&1 || ip link add trial type veth peer name other\n\
         {}\ntc qdisc del dev trial root 2>/dev/null || true",
        part.trial
    );
    let output = shell(&text, None).map_err(|error| TestbedError::Command {
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
        return Err(TestbedError::Command { command, reason }.into());
    }
    let Part { name, purpose, module, option, instead, .. } = *part;
    Err(KernelRouterError::Missing { part: name, purpose, module, option, instead })
}
