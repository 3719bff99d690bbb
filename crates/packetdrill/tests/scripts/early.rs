//! Early retransmit and modified fast retransmit of Linux 3.16, by parameter and by socket option.

use fairwind_packetdrill::{Outcome, RunOptions, run_script};
use fairwind_tcp::Profile;

/// Three segments, a round trip of 100 ms, no more data. The second and the third have arrived at 300 ms;
/// `expected` is the expected retransmission.
fn holds(parameter: u32, option: &str, expected: &str) {
    let script = format!(
        "`sysctl -q net.ipv4.tcp_early_retrans={parameter} net.ipv4.tcp_retrans_collapse=0`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,nop,nop,sackOK,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 512
+0 accept(3, ..., ...) = 4
{option}
+.1 write(4, ..., 3000) = 3000
+0 > . 1:2001(2000) ack 1
+0 > P. 2001:3001(1000) ack 1
+.1 < . 1:1(0) ack 1 win 512 <nop,nop,sack 1001:3001>
{expected}
"
    );
    let options = RunOptions::strict(Profile::Linux3_16);
    match run_script("early.pkt", &script, &options) {
        Outcome::Passed => {}
        Outcome::Failed(failure) => panic!("{parameter}: {failure}\n{}", failure.dialogue_text()),
        Outcome::Unsupported(unsupported) => panic!("{unsupported}"),
    }
}

const AT_ONCE: &str = "+0 > . 1:1001(1000) ack 1";
/// A quarter of the round trip later.
const SOON: &str = "+.025 > . 1:1001(1000) ack 1";
/// The time-out is 300 ms after the data: the round trip and 200 ms.
const BY_TIME_OUT: &str = "+.2 > . 1:1001(1000) ack 1";
/// The tail loss probe, due two round trips after the data, comes first.
const BY_PROBE: &str = "+.1 > P. 2001:3001(1000) ack 1";

#[test]
fn parameter_selects_early_retransmit() {
    holds(0, "", BY_TIME_OUT);
    holds(1, "", AT_ONCE);
    holds(2, "", SOON);
    holds(3, "", SOON);
    holds(4, "", BY_PROBE);
}

/// In the initial slow start no stream is thin, so neither mechanism acts.
#[test]
fn modified_fast_retransmit_disables_early_retransmit() {
    let asked = "+0 setsockopt(4, SOL_TCP, TCP_THIN_DUPACK, [1], 4) = 0";
    holds(1, asked, BY_TIME_OUT);
    holds(3, asked, BY_PROBE);
    holds(1, "+0 setsockopt(4, SOL_TCP, TCP_THIN_DUPACK, [0], 4) = 0", AT_ONCE);
}
