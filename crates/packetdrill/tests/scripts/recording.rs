//! Recordings: stimuli in, a passing script out.

use super::{ACCEPTED, options, run};
use fairwind_packetdrill::{Outcome, RecordedTimes, Recording, Script, Windows, record};
use fairwind_units::Span;
use std::collections::BTreeMap;

/// A loss that SACK reports, and its recovery.
const STIMULI: &str = "\
// A listening socket.
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,TS val 1 ecr 0,nop,wscale 7>
+.1 < . 1:1(0) ack 1 win 512 <nop,nop,TS val 2 ecr 100>
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 5000) = ...

// The first segment is lost.
+.1 < . 1:1(0) ack 1 win 512 <nop,nop,TS val 3 ecr 200,nop,nop,sack 1001:5001>
+.1 < . 1:1(0) ack 5001 win 512 <nop,nop,TS val 4 ecr 300>
+0 read(4, ..., 1000) = ...
+.3 < P. 1:501(500) ack 5001 win 512 <nop,nop,TS val 4 ecr 300>
";

fn recorded(stimuli: &str, recording: &Recording) -> String {
    let script = Script::parse("stimuli.pkt", stimuli, &BTreeMap::new()).expect("a script");
    record(&script, stimuli, &options(), recording).expect("stimuli that are possible")
}

fn everything(times: RecordedTimes) -> Recording {
    Recording {
        times,
        windows: Windows::Written,
        fields: ["tcpi_snd_cwnd", "tcpi_ca_state"].map(str::to_owned).to_vec(),
        watch: Span::from_secs(1),
    }
}

#[test]
fn recording_passes() {
    for times in [RecordedTimes::Relative, RecordedTimes::Absolute] {
        let script = recorded(STIMULI, &everything(times));
        assert_eq!(run(&script), Outcome::Passed, "{script}");
    }
}

#[test]
fn recording_a_recording_changes_nothing() {
    let recording = Recording { fields: Vec::new(), ..everything(RecordedTimes::Absolute) };
    let first = recorded(STIMULI, &recording);
    let again = recorded(&first, &Recording { watch: Span::ZERO, ..recording });
    assert_eq!(first, again);
}

#[test]
fn recording_has_packets_results_fields_comments() {
    let script = recorded(STIMULI, &everything(RecordedTimes::Relative));
    for line in [
        "// A listening socket.",
        "// The first segment is lost.",
        "+0 write(4, ..., 5000) = 5000",
        "+0 > . 1:989(988) ack 1 win 64 <nop,nop,TS val 300 ecr 3>",
        "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
        "+0...0.3 read(4, ..., 1000) = 500",
    ] {
        let line = line.trim();
        assert!(script.lines().any(|written| written.starts_with(line)), "{line} in\n{script}");
    }
}

#[test]
fn altered_recording_fails() {
    let script = recorded(STIMULI, &everything(RecordedTimes::Relative));
    let less = script.replacen("tcpi_snd_cwnd == 10", "tcpi_snd_cwnd == 9", 1);
    assert_ne!(run(&less), Outcome::Passed);
    let another = script.replacen(" > . 1:989(988)", " > P. 1:989(988)", 1);
    assert_ne!(run(&another), Outcome::Passed);
}

#[test]
fn impossible_stimulus_fails_with_its_line() {
    let stimuli = format!("{ACCEPTED}+0 write(4, ..., 100) = 99\n");
    let script = Script::parse("stimuli.pkt", &stimuli, &BTreeMap::new()).expect("a script");
    let outcome = record(&script, &stimuli, &options(), &Recording::default());
    let Err(Outcome::Failed(failure)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.to_string(), "stimuli.pkt:8: the result: expected 99, seen 100");
}
