//! Queue disciplines, address translation, clocks, processors, and what the kernel lets eBPF programs do.
//!
//! The last is found without loading a program of each kind: by the kernel's own description of its types, and by
//! trying the program that experiments use.

use super::{Capability, State, succeeds};
use fairwind_bpf as ebpf;
use fairwind_linux as linux;
use fairwind_router::LATENESS_BOUND;
use fairwind_units::Span;
use fairwind_windows as windows;
use std::fs;
use std::process::Command;

/// Queue disciplines, with what they cannot be without.
const DISCIPLINES: [(&str, &str); 11] = [
    ("htb", ""),
    ("tbf", "rate 1mbit burst 10kb latency 50ms"),
    ("pfifo", ""),
    ("bfifo", ""),
    ("netem", "delay 1ms"),
    ("codel", ""),
    ("fq", ""),
    ("fq_codel", ""),
    ("red", "limit 400000 min 30000 max 90000 avpkt 1000 burst 55"),
    ("sfq", ""),
    ("prio", ""),
];
/// Those of a network that the kernel emulates (`path.router = "kernel"`).
const OF_A_NETWORK: [&str; 4] = ["htb", "pfifo", "bfifo", "netem"];

const TRANSLATION: &str =
    "table ip t { chain c { type nat hook postrouting priority srcnat; masquerade; } }\n";

/// Findings of a trial in a new namespace.
struct Trial {
    there: Vec<&'static str>,
    missing: Vec<&'static str>,
    translation: Result<(), String>,
}

pub(super) fn probe_queues() -> Vec<Capability> {
    let trial = std::thread::spawn(|| {
        linux::enter_new_network().ok()?;
        let (there, missing): (Vec<_>, Vec<_>) =
            DISCIPLINES.iter().partition(|(kind, options)| has_discipline(kind, options));
        let names = |all: Vec<&(&'static str, &str)>| all.iter().map(|(kind, _)| *kind).collect();
        Some(Trial { there: names(there), missing: names(missing), translation: translates() })
    });
    match trial.join() {
        Ok(Some(trial)) => vec![disciplines(&trial), translation(&trial.translation)],
        _ => vec![Capability::lacking(
            "queue disciplines",
            State::Missing,
            "not tried: a network namespace is needed",
            "optional, because Fairwind's router has its own queues",
        )],
    }
}

fn has_discipline(kind: &str, options: &str) -> bool {
    let mut command = Command::new("tc");
    command.args(["qdisc", "replace", "dev", "lo", "root", kind]);
    command.args(options.split_whitespace());
    succeeds(&mut command)
}

fn disciplines(trial: &Trial) -> Capability {
    let what = "queue disciplines";
    let there = trial.there.join(" ");
    if trial.missing.is_empty() {
        return Capability::ok(what, there);
    }
    let lacking: Vec<_> =
        trial.missing.iter().filter(|name| OF_A_NETWORK.contains(name)).copied().collect();
    let found = match there.as_str() {
        "" => "none, or no tc (install iproute2)".to_owned(),
        _ => format!("{there}; not {}", trial.missing.join(" ")),
    };
    let for_a_network = if lacking.is_empty() {
        String::new()
    } else {
        format!("; path.router = \"kernel\" needs {}", lacking.join(" "))
    };
    let remedy = format!(
        "optional, because Fairwind's router has its own queues{for_a_network}: modprobe sch_NAME, or a \
         kernel with CONFIG_NET_SCH_NAME"
    );
    Capability::lacking(what, State::Limited, found, remedy)
}

fn translates() -> Result<(), String> {
    match linux::command_output("nft", &["-f", "-"], TRANSLATION) {
        Ok(_) => Ok(()),
        Err(_) if linux::command_output("nft", &["--version"], "").is_err() => {
            Err("no nft (install nftables)".to_owned())
        }
        Err(_) => Err("the kernel has no masquerade for nft".to_owned()),
    }
}

fn translation(tried: &Result<(), String>) -> Capability {
    let what = "address translation";
    match tried {
        Ok(()) => Capability::ok(what, "nft masquerade"),
        Err(found) => Capability::lacking(
            what,
            State::Limited,
            found,
            "`fairwind shell` then reaches this machine only: modprobe nft_masq, or CONFIG_NFT_MASQ",
        ),
    }
}

/// How often a timer is tried.
const WAITS: usize = 300;
/// How long each time.
const WAIT: Span = Span::from_millis(1);

pub(super) fn probe_clocks() -> Vec<Capability> {
    vec![clock(), tick(), lateness(), processors()]
}

fn clock() -> Capability {
    let source =
        linux::read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let resolution = linux::clock_resolution();
    let found = format!("{source}, in steps of {resolution}");
    if resolution <= Span::from_micros(1) {
        return Capability::ok("clock", found);
    }
    let remedy = "a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS)";
    Capability::lacking("clock", State::Limited, found, remedy)
}

/// The step of TCP's own timers.
fn tick() -> Capability {
    let tick = linux::tick();
    let rate = 1_000_000_000 / tick.as_nanos().max(1);
    Capability::ok("timers of TCP", format!("{rate} Hz, in steps of {tick}"))
}

/// Wake-up lateness of a router on this machine now.
fn lateness() -> Capability {
    let what = "timer lateness";
    let mut late: Vec<Span> = std::thread::spawn(|| {
        linux::prefer();
        (0..WAITS)
            .map(|_| {
                let due = linux::monotonic() + WAIT;
                linux::wait_readable(&[], WAIT);
                linux::monotonic().saturating_since(due)
            })
            .collect()
    })
    .join()
    .unwrap_or_default();
    late.sort();
    let at = |share: usize| late.get(late.len() * share / 100).copied().unwrap_or(Span::MAX);
    let micros = |span: Span| span.as_nanos().div_ceil(1_000);
    let found = format!("median {} us, 99th percentile {} us", micros(at(50)), micros(at(99)));
    if at(99) <= LATENESS_BOUND {
        return Capability::ok(what, found);
    }
    let remedy = "packets will be late: stop other programs, or use a kernel with a faster timer \
                  interrupt (CONFIG_HZ)";
    Capability::lacking(what, State::Limited, found, remedy)
}

fn processors() -> Capability {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let found = count.to_string();
    if count >= 2 {
        return Capability::ok("processors for the kernel", found);
    }
    let remedy = "router and hosts share one: expect lateness beyond some ten Mbit/s";
    Capability::lacking("processors for the kernel", State::Limited, found, remedy)
}

/// The running kernel's description of its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Tracepoints of TCP and of queues, by the names that they have among the types.
const TRACEPOINTS: [&str; 5] =
    ["tcp_probe", "tcp_retransmit_skb", "kfree_skb", "qdisc_enqueue", "qdisc_dequeue"];

pub(super) fn probe_programs() -> Vec<Capability> {
    let types = fs::read(TYPES).unwrap_or_default();
    vec![
        described(&types),
        loaded(),
        tracepoints(&types),
        congestion_controls(&types),
        socket_programs(&types),
    ]
}

/// Whether a name is among the types; names stand one behind the other, each ended by a zero.
fn has_type(types: &[u8], name: &str) -> bool {
    let sought = [b"\0", name.as_bytes(), b"\0"].concat();
    types.windows(sought.len()).any(|window| window == sought)
}

fn described(types: &[u8]) -> Capability {
    let what = "kernel types (BTF)";
    if types.is_empty() {
        let remedy =
            "for time-outs and windows to the instant: a kernel with CONFIG_DEBUG_INFO_BTF";
        return Capability::lacking(what, State::Limited, format!("no {TYPES}"), remedy);
    }
    Capability::ok(what, format!("{} KiB", types.len() / 1024))
}

fn loaded() -> Capability {
    let what = "eBPF programs";
    match ebpf::availability() {
        Ok(()) => Capability::ok(what, "put one on the kernel's tracepoints"),
        Err(error) => Capability::lacking(
            what,
            State::Limited,
            error.to_string(),
            "TCP_INFO then reports time-outs, to 50 ms: run as root, with a build that has them",
        ),
    }
}

fn tracepoints(types: &[u8]) -> Capability {
    let what = "tracepoints";
    let has = |name: &&str| has_type(types, &format!("btf_trace_{name}"));
    let (there, missing): (Vec<&str>, Vec<&str>) = TRACEPOINTS.into_iter().partition(has);
    if missing.is_empty() {
        return Capability::ok(what, there.join(" "));
    }
    let found = format!("not {}", missing.join(" "));
    let remedy = "for what queues and endpoints of the kernel do: a kernel with CONFIG_TRACEPOINTS";
    Capability::lacking(what, State::Limited, found, remedy)
}

fn congestion_controls(types: &[u8]) -> Capability {
    let what = "congestion controls by eBPF (struct_ops)";
    if has_type(types, "bpf_struct_ops_tcp_congestion_ops") {
        return Capability::ok(what, "the kernel takes them");
    }
    let remedy =
        "for congestion controls of one's own on the kernel: Linux 5.13 with CONFIG_BPF_JIT";
    Capability::lacking(what, State::Limited, "not among the kernel's types", remedy)
}

fn socket_programs(types: &[u8]) -> Capability {
    let what = "programs on sockets (sock_ops)";
    let is_described = has_type(types, "bpf_sock_ops_kern") && has_type(types, "cgroup_bpf");
    let groups = windows::groups().len();
    if is_described || groups > 0 {
        let found = match groups {
            0 => "the kernel takes them".to_owned(),
            1 => "windows are remembered in a control group".to_owned(),
            count => format!("windows are remembered in {count} control groups"),
        };
        return Capability::ok(what, found);
    }
    if types.is_empty() {
        let found = "unknown: the kernel does not describe its types";
        let remedy = "`fairwind windows start` tries whether windows can be remembered";
        return Capability::lacking(what, State::Limited, found, remedy);
    }
    let remedy =
        "for windows that are remembered (`fairwind windows`): a kernel with CONFIG_CGROUP_BPF";
    Capability::lacking(what, State::Limited, "not among the kernel's types", remedy)
}
