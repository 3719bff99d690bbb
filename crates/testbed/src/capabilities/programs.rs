//! What the kernel lets eBPF programs do, as far as can be told without loading one of each kind: by
//! the kernel's own description of its types, and by trying the program that experiments use.

use super::{Capability, State};
use fairwind_bpf as ebpf;
use fairwind_windows as windows;
use std::fs;

/// The running kernel's description of its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Tracepoints of TCP and of queues, by the names that they have among the types.
const TRACEPOINTS: [&str; 5] =
    ["tcp_probe", "tcp_retransmit_skb", "kfree_skb", "qdisc_enqueue", "qdisc_dequeue"];

pub(super) fn probe() -> Vec<Capability> {
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
            "time-outs are then told by TCP_INFO, to 50 ms: run as root, with a build that has them",
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
    if has_type(types, "bpf_sock_ops_kern") && has_type(types, "cgroup_bpf") {
        let found = match windows::groups().len() {
            0 => "the kernel takes them".to_owned(),
            1 => "windows are remembered in a control group".to_owned(),
            count => format!("windows are remembered in {count} control groups"),
        };
        return Capability::ok(what, found);
    }
    let remedy =
        "for windows that are remembered (`fairwind windows`): a kernel with CONFIG_CGROUP_BPF";
    Capability::lacking(what, State::Limited, "not among the kernel's types", remedy)
}
