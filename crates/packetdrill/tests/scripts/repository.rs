//! The scripts under `tests/packetdrill`.

use super::options;
use fairwind_packetdrill::{Outcome, RunOptions, Script, run, run_script};
use fairwind_wire::SequenceNumber;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packetdrill")
}

/// Names and texts, in the order of their names.
pub(crate) fn scripts() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for behaviour in std::fs::read_dir(folder()).expect("the folder of scripts") {
        let behaviour = behaviour.expect("a folder").path();
        for file in std::fs::read_dir(&behaviour).expect("a folder of scripts") {
            let file = file.expect("a file").path();
            assert_eq!(file.extension().expect("an extension"), "pkt", "{}", file.display());
            let name = file.strip_prefix(folder()).expect("a path below").display().to_string();
            found.push((name, std::fs::read_to_string(&file).expect("a text")));
        }
    }
    found.sort();
    assert!(found.len() >= 30, "the scripts are there: {}", found.len());
    found
}

pub(crate) fn parsed() -> Vec<Script> {
    let nothing = BTreeMap::new();
    scripts()
        .iter()
        .map(|(name, text)| Script::parse(name, text, &nothing).expect("a script"))
        .collect()
}

#[test]
fn every_script_holds() {
    for (name, text) in scripts() {
        match run_script(&name, &text, &options()) {
            Outcome::Passed => {}
            Outcome::Failed(failure) => panic!("{failure}\n{}", failure.dialogue_text()),
            Outcome::Unsupported(unsupported) => panic!("{unsupported}"),
        }
    }
}

/// Scripts use relative numbers, even if those of the endpoint wrap.
#[test]
fn every_script_holds_wherever_the_sequence_begins() {
    for initial in [0, 1, 0x7fff_f000, 0x8000_0000, 0xffff_f000, 0xffff_fffe, u32::MAX] {
        let options = RunOptions { initial_sequence: SequenceNumber::new(initial), ..options() };
        for script in parsed() {
            assert_eq!(run(&script, &options), Outcome::Passed, "{} at {initial}", script.name);
        }
    }
}

#[test]
fn scripts_have_at_most_sixty_lines() {
    for (name, text) in scripts() {
        assert!(text.starts_with("//"), "{name} begins with a comment");
        assert!(text.lines().count() <= 60, "{name} has {} lines", text.lines().count());
    }
}
