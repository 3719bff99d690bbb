//! The scripts under `tests/packetdrill` hold on the kernel, too.

use super::is_available;
use fairwind_kernel_packetdrill::{KernelOptions, run_script};
use fairwind_packetdrill::{Outcome, RunOptions};
use fairwind_tcp::Profile;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The kernel that the scripts are written for; others may differ.
const DESCRIBED: &str = "6.18";
/// Real time is never quite on time: a script may be tried so often. Each try is printed.
const TRIES: u32 = 3;
/// So often more may one that fails then, while no other runs.
const TRIES_ALONE: u32 = 5;
/// Scripts that run at the same time: more would disturb each other's times.
const AT_ONCE: usize = 2;
/// A script that begins a comment so is not for the kernel; the reason follows.
const EXCEPTIONS: [&str; 2] = ["// kernel: skip,", "// kernel: differs,"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packetdrill")
}

/// All scripts, in the order of their names.
fn scripts() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for behaviour in std::fs::read_dir(folder()).expect("the folder of scripts") {
        let behaviour = behaviour.expect("a folder").path();
        let files = std::fs::read_dir(&behaviour).expect("a folder of scripts");
        found.extend(files.map(|file| file.expect("a file").path()));
    }
    found.retain(|file| file.extension().is_some_and(|extension| extension == "pkt"));
    found.sort();
    assert!(found.len() >= 30, "the scripts are there: {}", found.len());
    found
}

/// Tries a script until it holds, up to `tries` times; what is wrong with it otherwise.
fn what_is_wrong(file: &Path, tries: u32) -> Option<String> {
    let name = file.strip_prefix(folder()).expect("a path below").display().to_string();
    let text = std::fs::read_to_string(file).expect("a text");
    let exception = EXCEPTIONS.iter().find_map(|mark| text.lines().find(|l| l.starts_with(mark)));
    if let Some(line) = exception {
        println!("not for the kernel: {name}: {line}");
        return None;
    }
    let options = RunOptions::strict(Profile::Linux6_18);
    let kernel =
        KernelOptions { folder: file.parent().map(Path::to_path_buf), ..KernelOptions::default() };
    let mut last = String::new();
    for tried in 1..=tries {
        match run_script(&name, &text, &options, &kernel).expect("the kernel can be used") {
            Outcome::Passed => return None,
            Outcome::Failed(failure) => {
                println!("try {tried} of {tries}: {failure}");
                last = format!("{failure}\n{}", failure.dialogue_text());
            }
            Outcome::Unsupported(unsupported) => return Some(unsupported.to_string()),
        }
    }
    Some(last)
}

#[test]
fn every_script_passes_on_kernel() {
    const NAME: &str = "every_script_passes_on_kernel";
    if !is_available(NAME) {
        return;
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    if !release.starts_with(DESCRIBED) {
        fairwind_kernel_testing::skip(NAME, format!("scripts say what Linux {DESCRIBED} does"));
        return;
    }
    let files = scripts();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(what_is_wrong(file, TRIES).map(|_| file));
        }
        wrong
    };
    let disturbed: Vec<&PathBuf> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    let wrong: Vec<String> =
        disturbed.into_iter().filter_map(|file| what_is_wrong(file, TRIES_ALONE)).collect();
    assert!(wrong.is_empty(), "{} scripts do not hold:\n{}", wrong.len(), wrong.join("\n"));
}
