//! Golden test: packetdrill scripts with every profile; the outcome, and everything that the endpoint sent.
//!
//! CONTRIBUTING.md explains how to run one script, how to see old and new values, and when the digests may be
//! rewritten.

#[path = "../../../../tests/golden/ledger.rs"]
mod ledger;

use fairwind_packetdrill::{
    Outcome, RecordedTimes, Recording, RunOptions, Script, TrailingPackets, Windows, record,
    run_script, unreadable,
};
use fairwind_tcp::Profile;
use fairwind_units::Span;
use fairwind_wire::SequenceNumber;
use ledger::{Digest, Parts};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const RERUN: &str = "cargo test -p fairwind-packetdrill --test golden";

/// Fields of `TCP_INFO` recorded after each injected packet.
const FIELDS: [&str; 69] = [
    "tcpi_state",
    "tcpi_ca_state",
    "tcpi_retransmits",
    "tcpi_probes",
    "tcpi_backoff",
    "tcpi_options",
    "tcpi_snd_wscale",
    "tcpi_rcv_wscale",
    "tcpi_delivery_rate_app_limited",
    "tcpi_fastopen_client_fail",
    "tcpi_rto",
    "tcpi_ato",
    "tcpi_last_data_sent",
    "tcpi_last_data_recv",
    "tcpi_last_ack_recv",
    "tcpi_snd_mss",
    "tcpi_rcv_mss",
    "tcpi_advmss",
    "tcpi_pmtu",
    "tcpi_rtt",
    "tcpi_rttvar",
    "tcpi_min_rtt",
    "tcpi_rcv_rtt",
    "tcpi_rcv_space",
    "tcpi_rcv_ssthresh",
    "tcpi_snd_ssthresh",
    "tcpi_snd_cwnd",
    "tcpi_reordering",
    "tcpi_snd_wnd",
    "tcpi_rcv_wnd",
    "tcpi_pacing_rate",
    "tcpi_max_pacing_rate",
    "tcpi_delivery_rate",
    "tcpi_busy_time",
    "tcpi_rwnd_limited",
    "tcpi_sndbuf_limited",
    "tcpi_accecn_fail_mode",
    "tcpi_accecn_opt_seen",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_fackets",
    "tcpi_total_retrans",
    "tcpi_bytes_acked",
    "tcpi_bytes_received",
    "tcpi_bytes_sent",
    "tcpi_bytes_retrans",
    "tcpi_notsent_bytes",
    "tcpi_segs_out",
    "tcpi_segs_in",
    "tcpi_data_segs_out",
    "tcpi_data_segs_in",
    "tcpi_delivered",
    "tcpi_delivered_ce",
    "tcpi_dsack_dups",
    "tcpi_reord_seen",
    "tcpi_rcv_ooopack",
    "tcpi_last_ack_sent",
    "tcpi_total_rto",
    "tcpi_total_rto_recoveries",
    "tcpi_total_rto_time",
    "tcpi_received_ce",
    "tcpi_delivered_e1_bytes",
    "tcpi_delivered_e0_bytes",
    "tcpi_delivered_ce_bytes",
    "tcpi_received_e1_bytes",
    "tcpi_received_e0_bytes",
    "tcpi_received_ce_bytes",
];

struct Case {
    name: String,
    text: String,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packetdrill");
    let mut files: Vec<PathBuf> = Vec::new();
    for behaviour in std::fs::read_dir(&folder).expect("the folder of scripts") {
        let behaviour = behaviour.expect("a folder").path();
        files.extend(
            std::fs::read_dir(behaviour).expect("scripts").map(|it| it.expect("one").path()),
        );
    }
    files.sort();
    let case = |file: &PathBuf| {
        let name = file.strip_prefix(&folder).expect("a path below").with_extension("");
        let text = std::fs::read_to_string(file).expect("a text");
        Case { name: name.display().to_string(), text }
    };
    files.iter().map(case).filter(|case| ledger::is_selected(&case.name)).collect()
}

/// The verdict, with its line but without its words.
fn verdict(outcome: &Outcome) -> String {
    let line = |line: Option<u32>| line.map_or("-".to_owned(), |line| line.to_string());
    match outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed(failure) => format!("failed:{}", line(failure.line)),
        Outcome::Unsupported(unsupported) => format!("unsupported:{}", line(unsupported.line)),
    }
}

/// Everything that the endpoint does for the stimuli of the script. If a call has another result than the
/// script, that outcome, and everything before it.
fn trace(case: &Case, part: &str, options: &RunOptions) -> String {
    let whole = recorded(case, &case.text, options);
    let (failed, recorded) = match whole {
        Ok(text) => (String::new(), Ok(text)),
        Err(outcome) => {
            let before = match &outcome {
                Outcome::Failed(failure) => failure.line.map_or(0, |line| line as usize - 1),
                _ => 0,
            };
            let text: Vec<&str> = case.text.lines().take(before).collect();
            (format!("{},", verdict(&outcome)), recorded(case, &text.join("\n"), options))
        }
    };
    let Ok(text) = recorded else { return format!("{failed}-") };
    ledger::dump(&case.name, &format!("{part}.pkt"), || text.clone());
    let mut digest = Digest::default();
    // Comments of the script are left out.
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        digest.text(line);
    }
    format!("{failed}{}", digest.finish())
}

fn recorded(case: &Case, text: &str, options: &RunOptions) -> Result<String, Outcome> {
    let recording = Recording {
        times: RecordedTimes::Absolute,
        windows: Windows::Written,
        fields: FIELDS.map(str::to_owned).to_vec(),
        watch: Span::from_secs(2),
    };
    let script = Script::parse(&case.name, text, &options.meanings())
        .map_err(|error| unreadable(&case.name, &error))?;
    record(&script, text, options, &recording)
}

fn run(case: &Case) -> Parts {
    Profile::ALL
        .into_iter()
        .map(|profile| {
            let usual = RunOptions::strict(profile);
            let options = RunOptions { trailing: TrailingPackets::Refused, ..usual };
            let verdict = verdict(&run_script(&case.name, &case.text, &options));
            let part = profile.name().to_owned();
            let trace = trace(case, &part, &options);
            if profile == Profile::Linux6_18 {
                let initial_sequence = SequenceNumber::new(0xffff_f000);
                let wrapping = RunOptions { initial_sequence, ..options };
                let wrapped = self::trace(case, "wrapping", &wrapping);
                assert_eq!(trace, wrapped, "numbers that wrap make a difference");
            }
            (part, format!("{verdict},{trace}"))
        })
        .collect()
}

#[test]
fn scripts_and_traces_are_unchanged() {
    let found: BTreeMap<_, _> = ledger::run_all(&cases(), |case| case.name.clone(), run);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scripts.txt");
    ledger::compare(&file, &found, RERUN);
}
