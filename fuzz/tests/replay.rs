//! What an engine has found once is tried again, and so are some bytes that nobody has chosen.

use fairwind_fuzz::{TARGETS, Target};
use std::path::{Path, PathBuf};

fn inputs(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let files = std::fs::read_dir(&folder).expect("the corpus of a target");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has inputs", folder.display());
    files
}

/// A panic tells no input, so this does.
fn holds(input: &str, target: Target, bytes: &[u8]) {
    let outcome = std::panic::catch_unwind(|| target(bytes));
    assert!(outcome.is_ok(), "{input} does harm: {bytes:?}");
}

#[test]
fn the_corpus_of_every_target_holds() {
    for (name, target) in TARGETS {
        for file in inputs(name) {
            let bytes = std::fs::read(&file).expect("the bytes of a file");
            holds(&file.display().to_string(), target, &bytes);
        }
    }
}

/// A generator that is the same everywhere (`SplitMix64`).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.next() % most;
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

fn try_some(name: &str, target: Target, times: u32) {
    let mut numbers = Numbers(7);
    for time in 0..times {
        holds(&format!("{name} {time}"), target, &numbers.bytes(400));
    }
}

#[test]
fn bytes_that_nobody_has_chosen_do_no_harm() {
    for (name, target) in TARGETS {
        try_some(name, target, 300);
    }
}
