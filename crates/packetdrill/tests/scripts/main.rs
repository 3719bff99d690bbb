//! Scripts against the endpoint: those of the repository, strictness, unsupported features.

mod any_script;
mod calls;
mod commands;
mod early;
mod mutations;
mod recording;
mod repository;
mod strictness;
mod unsupported;

use fairwind_packetdrill::{Outcome, RunOptions, TrailingPackets, run_script};
use fairwind_tcp::Profile;

/// A listening socket with a connection accepted as descriptor 4 at 0.1 s.
const ACCEPTED: &str = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,wscale 10>
+.1 < . 1:1(0) ack 1 win 512
+0 accept(3, ..., ...) = 4
";

/// The strictest comparison; no trailing packets.
fn options() -> RunOptions {
    RunOptions { trailing: TrailingPackets::Refused, ..RunOptions::strict(Profile::Linux6_18) }
}

fn run(text: &str) -> Outcome {
    run_script("test.pkt", text, &options())
}

/// Runs a script after an accepted connection.
fn after_accept(text: &str) -> Outcome {
    run(&format!("{ACCEPTED}{text}"))
}

fn failure(outcome: Outcome) -> String {
    match outcome {
        Outcome::Failed(failure) => failure.to_string(),
        other => panic!("not a failure: {other:?}"),
    }
}
