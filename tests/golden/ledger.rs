//! A checked-in list of digests, and what was found, compared line by line. Shared by the golden tests.

use siphasher::sip::SipHasher13;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::hash::Hasher as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Differences that a message lists before it only counts them.
const MOST_LISTED: usize = 200;

/// The value of an environment variable that is set and not empty.
#[expect(clippy::disallowed_methods, reason = "switches of a test")]
fn switch(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether `FAIRWIND_GOLDEN` selects the case: its name, or the part of it before a slash.
pub(crate) fn is_selected(case: &str) -> bool {
    switch("FAIRWIND_GOLDEN").is_none_or(|wanted| {
        case.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Writes the values behind a digest below the folder `FAIRWIND_GOLDEN_DUMP`, where it is set.
pub(crate) fn dump(case: &str, part: &str, text: impl FnOnce() -> String) {
    let Some(folder) = switch("FAIRWIND_GOLDEN_DUMP") else { return };
    let folder = PathBuf::from(folder).join(case);
    std::fs::create_dir_all(&folder).expect("a folder for the values");
    std::fs::write(folder.join(part), text()).expect("a file for the values");
}

/// A digest of bytes, the same on every machine.
#[derive(Default)]
pub(crate) struct Digest(SipHasher13);

impl Digest {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    pub(crate) fn finish(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}

/// What one case gave: for each part (a table, a verdict) what stands in the list.
pub(crate) type Parts = Vec<(String, String)>;

/// Runs every case on as many threads as there are processors; a case that panics has said why.
pub(crate) fn run_all<Case: Sync>(
    cases: &[Case],
    name: impl Fn(&Case) -> String + Sync,
    run: impl Fn(&Case) -> Parts + Sync,
) -> BTreeMap<String, Result<Parts, String>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let parts = catch_unwind(AssertUnwindSafe(|| run(case))).map_err(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                    .unwrap_or_default()
            });
            let mut found = found.lock().expect("no panic under the lock");
            assert!(found.insert(name(case), parts).is_none(), "two cases called {}", name(case));
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    found.into_inner().expect("no panic under the lock")
}

/// Holds what was found against the list `file`, or writes the list where `FAIRWIND_GOLDEN_WRITE` is set. `rerun` is
/// the command that runs this test.
pub(crate) fn compare(file: &Path, found: &BTreeMap<String, Result<Parts, String>>, rerun: &str) {
    let mut faults = Vec::new();
    let mut lines = BTreeMap::new();
    for (case, parts) in found {
        match parts {
            Ok(parts) => {
                for (part, digest) in parts {
                    let before = lines.insert(format!("{case} {part}"), digest.clone());
                    assert!(before.is_none(), "{case} has two parts called {part}");
                }
            }
            Err(panic) => faults.push((case.as_str(), format!("{case}: {panic}"))),
        }
    }
    if faults.is_empty() && switch("FAIRWIND_GOLDEN_WRITE").is_some() {
        return write(file, lines);
    }
    let expected = read(file);
    let case_of = |key: &str| key.rsplit_once(' ').map_or(key.to_owned(), |(case, _)| case.into());
    let expected: BTreeMap<_, _> =
        expected.into_iter().filter(|(key, _)| is_selected(&case_of(key))).collect();
    let keys: BTreeSet<&String> = expected.keys().chain(lines.keys()).collect();
    let panicked: BTreeSet<String> = faults.iter().map(|(case, _)| (*case).to_owned()).collect();
    for key in keys {
        let case = case_of(key);
        let fault = match (expected.get(key), lines.get(key)) {
            (Some(expected), Some(found)) if expected == found => continue,
            (Some(expected), Some(found)) => format!("{key}: expected {expected}, found {found}"),
            (Some(_), None) if panicked.contains(&case) => continue,
            (Some(_), None) => format!("{key}: expected, not found"),
            (None, _) => format!("{key}: found, not expected"),
        };
        faults.push((key.as_str(), fault));
    }
    if let Some((key, _)) = faults.first() {
        let (case, _) = key.rsplit_once(' ').unwrap_or((key, ""));
        panic!("{}", message(file, &faults, case, rerun));
    }
}

fn message(file: &Path, faults: &[(&str, String)], case: &str, rerun: &str) -> String {
    let mut text = format!("{} results differ from {}:\n", faults.len(), file.display());
    for (_, fault) in faults.iter().take(MOST_LISTED) {
        writeln!(text, "  {fault}").expect("a text takes all");
    }
    if faults.len() > MOST_LISTED {
        writeln!(text, "  and {} more", faults.len() - MOST_LISTED).expect("a text takes all");
    }
    write!(
        text,
        "One case alone:\n  FAIRWIND_GOLDEN='{case}' {rerun}\n\
         Old and new values: run this here, run it in a checkout of the commit before with /tmp/old, then diff:\n  \
         FAIRWIND_GOLDEN='{case}' FAIRWIND_GOLDEN_DUMP=/tmp/new {rerun}\n  \
         diff -r /tmp/old /tmp/new\n\
         If the change of results is meant, CHANGELOG.md says so under \"Changed results\":\n  \
         FAIRWIND_GOLDEN_WRITE=1 {rerun}"
    )
    .expect("a text takes all");
    text
}

fn read(file: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let split = |line: &str| {
        let (key, digest) = line.rsplit_once(' ').expect("a line is a case, a part and a digest");
        (key.to_owned(), digest.to_owned())
    };
    text.lines().map(split).collect()
}

/// Replaces the lines of the cases that were selected.
fn write(file: &Path, lines: BTreeMap<String, String>) {
    let mut all = read(file);
    all.retain(|key, _| !is_selected(key.rsplit_once(' ').map_or("", |(case, _)| case)));
    all.extend(lines);
    let mut text = String::new();
    for (key, digest) in all {
        writeln!(text, "{key} {digest}").expect("a text takes all");
    }
    std::fs::write(file, text).expect("the list of digests");
}
