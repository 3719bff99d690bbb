//! Packetdrill scripts against the endpoint with every profile: the verdict, and all that the endpoint sent.
//!
//! CONTRIBUTING.md says how to run one script alone, how to see old and new values, and when the list of digests may be
//! written anew.

#[path = "../../../../tests/golden/ledger.rs"]
mod ledger;

use fairwind_packetdrill::{
    Outcome, RecordedTimes, Recording, RunOptions, Script, TrailingPackets, Windows, record,
    run_script,
};
use fairwind_tcp::Profile;
use fairwind_units::Span;
use ledger::{Digest, Parts};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const RERUN: &str = "cargo test -p fairwind-packetdrill --test golden";

/// What `TCP_INFO` is asked for after each injected packet.
const FIELDS: [&str; 30] = [
    "tcpi_state",
    "tcpi_ca_state",
    "tcpi_retransmits",
    "tcpi_backoff",
    "tcpi_options",
    "tcpi_rto",
    "tcpi_ato",
    "tcpi_snd_mss",
    "tcpi_rcv_mss",
    "tcpi_pmtu",
    "tcpi_rtt",
    "tcpi_rttvar",
    "tcpi_min_rtt",
    "tcpi_rcv_rtt",
    "tcpi_rcv_space",
    "tcpi_snd_ssthresh",
    "tcpi_snd_cwnd",
    "tcpi_reordering",
    "tcpi_snd_wnd",
    "tcpi_pacing_rate",
    "tcpi_delivery_rate",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_total_retrans",
    "tcpi_delivered",
    "tcpi_dsack_dups",
    "tcpi_reord_seen",
    "tcpi_delivered_ce",
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

/// All that the endpoint did about the stimuli of the script, or how far it came.
fn trace(case: &Case, part: &str, options: &RunOptions) -> String {
    let recording = Recording {
        times: RecordedTimes::Absolute,
        windows: Windows::Written,
        fields: FIELDS.map(str::to_owned).to_vec(),
        watch: Span::from_secs(2),
    };
    let Ok(script) = Script::parse(&case.name, &case.text, &options.definitions) else {
        return "unreadable".to_owned();
    };
    match record(&script, &case.text, options, &recording) {
        Ok(text) => {
            ledger::dump(&case.name, &format!("{part}.pkt"), || text.clone());
            let mut digest = Digest::default();
            // What the script's own comments say does not count.
            for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                digest.text(line);
            }
            digest.finish()
        }
        Err(outcome) => verdict(&outcome),
    }
}

fn run(case: &Case) -> Parts {
    Profile::ALL
        .into_iter()
        .map(|profile| {
            let usual = RunOptions::new(profile);
            let options = RunOptions { trailing: TrailingPackets::Refused, ..usual };
            let verdict = verdict(&run_script(&case.name, &case.text, &options));
            let part = profile.name().to_owned();
            let trace = trace(case, &part, &options);
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
