//! Queue disciplines and address translation, tried in a namespace that vanishes.

use super::{Capability, State};
use fairwind_linux as linux;
use std::io::Write as _;
use std::process::{Command, Stdio};

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

/// What was found in a namespace of its own.
struct Trial {
    there: Vec<&'static str>,
    missing: Vec<&'static str>,
    translation: Result<(), String>,
}

pub(super) fn probe() -> Vec<Capability> {
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
            "experiments do without them: queues are in our router",
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
        "queues are in our router, so experiments do without{for_a_network}: modprobe sch_NAME, or a \
         kernel with CONFIG_NET_SCH_NAME"
    );
    Capability::lacking(what, State::Limited, found, remedy)
}

fn translates() -> Result<(), String> {
    let mut nft = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|_| "no nft (install nftables)".to_owned())?;
    if let Some(mut input) = nft.stdin.take() {
        // A nft that ends early is judged by its exit code.
        let _ = input.write_all(TRANSLATION.as_bytes());
    }
    let done = nft.wait().is_ok_and(|status| status.success());
    if done { Ok(()) } else { Err("the kernel has no masquerade for nft".to_owned()) }
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

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
