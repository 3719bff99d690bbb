//! Files that a scenario names, at any point of its grid, and what they hold: writes, rates, losses, delays. This crate opens
//! none: the caller reads them and provides their text, and registers congestion controls.

use crate::error::{ScenarioError, ScenarioErrors};
use crate::node::{Node, NodeValue};
use crate::workload::RecordedWrite;
use fairwind_qdisc::{Fault, LineError, RateStep, RateTrace, parse_delay_table, parse_losses};
use fairwind_units::{BitRate, ByteCount, Span};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a file that a scenario names is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileContent {
    /// Writes of an application: a line for each with seconds, a comma and bytes.
    Writes,
    /// When a link may send: Mahimahi's packet-delivery format, a whole number of milliseconds on each line.
    RateTrace,
    /// Which packets are lost: 1 for a packet that is, 0 for one that is not.
    Losses,
    /// A table of delays as netem's (`.dist`).
    Delays,
}

impl FileContent {
    /// Everything that a file may hold.
    pub const ALL: [Self; 4] = [Self::Writes, Self::RateTrace, Self::Losses, Self::Delays];

    /// Its name: `writes`, `rate-trace`, `losses`, `delays`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::RateTrace => "rate-trace",
            Self::Losses => "losses",
            Self::Delays => "delays",
        }
    }

    /// How such a file is written.
    pub(crate) const fn form(self) -> &'static str {
        match self {
            Self::Writes => "a line for each write has seconds, a comma and bytes: 0.035,1200",
            Self::RateTrace => {
                "Mahimahi's form: on each line a whole number of milliseconds, never decreasing"
            }
            Self::Losses => "1 for a packet that is lost, 0 for one that is not; # begins a remark",
            Self::Delays => {
                "netem's form: whole numbers with blanks between them, 8192 for one deviation; # begins a remark"
            }
        }
    }
}

/// A file that a scenario names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NamedFile {
    /// Its name as the scenario has it, seen from the scenario's folder.
    pub file: String,
    /// Its expected content.
    pub content: FileContent,
    /// Of a capture, which connection; the one with the most payload where nothing is said.
    pub connection: Option<String>,
}

impl NamedFile {
    pub(crate) fn new(file: &str, content: FileContent) -> Self {
        Self { file: file.to_owned(), content, connection: None }
    }

    pub(crate) fn writes(file: &str, connection: Option<&str>) -> Self {
        let connection = connection.map(str::to_owned);
        Self { connection, ..Self::new(file, FileContent::Writes) }
    }
}

/// Adds the files that a scenario names to `found`.
pub(crate) fn gather(root: &Node, found: &mut BTreeSet<NamedFile>) {
    for group in items(root.get("flows")) {
        writes(group, found);
    }
    if let Some(path) = root.get("path") {
        link(path, "impairments", found);
        link(path, "reverse_impairments", found);
    }
    for each in items(root.get("topology").and_then(|topology| topology.get("links"))) {
        link(each, "impairments", found);
    }
}

fn items(list: Option<&Node>) -> &[Node] {
    match list.map(|node| &node.value) {
        Some(NodeValue::List(items)) => items,
        _ => &[],
    }
}

fn writes(group: &Node, found: &mut BTreeSet<NamedFile>) {
    let Some(workload) = group.get("workload") else { return };
    let text = |key| workload.get(key).and_then(Node::as_text);
    if let (Some("replay"), Some(file)) = (text("kind"), text("file")) {
        found.insert(NamedFile::writes(file, text("connection")));
    }
}

/// The files of a link, or of one direction of a path.
fn link(link: &Node, impairments: &str, found: &mut BTreeSet<NamedFile>) {
    let impairments = link.get(impairments);
    let below = |key| impairments.and_then(|table| table.get(key));
    for (table, content) in [
        (link.get("rate_trace"), FileContent::RateTrace),
        (below("loss"), FileContent::Losses),
        (below("jitter"), FileContent::Delays),
    ] {
        let file = table.and_then(|table| table.get("file")).and_then(Node::as_text);
        found.extend(file.map(|file| NamedFile::new(file, content)));
    }
}

/// Contents of the files that a scenario names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recordings {
    writes: BTreeMap<NamedFile, Arc<[RecordedWrite]>>,
    traces: BTreeMap<NamedFile, RateTrace>,
    losses: BTreeMap<NamedFile, Vec<bool>>,
    delays: BTreeMap<NamedFile, Vec<i32>>,
    controls: BTreeSet<String>,
}

impl Recordings {
    /// The writes of a file, where they were provided; of a capture those of this connection.
    pub(crate) fn writes(
        &self,
        file: &str,
        connection: Option<&str>,
    ) -> Option<Arc<[RecordedWrite]>> {
        self.writes.get(&NamedFile::writes(file, connection)).cloned()
    }

    /// When a link may send.
    pub(crate) fn rate_trace(&self, file: &str) -> Option<RateTrace> {
        self.traces.get(&NamedFile::new(file, FileContent::RateTrace)).cloned()
    }

    /// Which packets are lost.
    pub(crate) fn losses(&self, file: &str) -> Option<Vec<bool>> {
        self.losses.get(&NamedFile::new(file, FileContent::Losses)).cloned()
    }

    /// Quantiles of a delay.
    pub(crate) fn delays(&self, file: &str) -> Option<Vec<i32>> {
        self.delays.get(&NamedFile::new(file, FileContent::Delays)).cloned()
    }

    /// Names of congestion controls that are known beyond those of the repository.
    pub(crate) fn controls(&self) -> impl Iterator<Item = &str> {
        self.controls.iter().map(String::as_str)
    }

    /// Makes a congestion control known.
    pub(crate) fn provide_control(&mut self, name: &str) {
        self.controls.insert(name.to_owned());
    }

    /// Takes the text of a file.
    ///
    /// # Errors
    /// The first line that is nothing that such a file holds, or that the file as a whole holds nothing.
    pub(crate) fn provide(&mut self, named: &NamedFile, text: &str) -> Result<(), ScenarioErrors> {
        let wrong = |(line, rule): LineError| {
            let found = text.lines().nth(line.wrapping_sub(1)).unwrap_or_default();
            let found: String = found.chars().take(60).collect();
            line_error(&named.file, "a line", (line, &found), rule, Some(named.content.form()))
        };
        let key = named.clone();
        match named.content {
            FileContent::Writes => {
                self.writes.insert(key, writes_of_text(&named.file, text)?);
            }
            FileContent::RateTrace => {
                self.traces.insert(key, RateTrace::from_mahimahi(text).map_err(wrong)?);
            }
            FileContent::Losses => {
                self.losses.insert(key, parse_losses(text).map_err(wrong)?);
            }
            FileContent::Delays => {
                self.delays.insert(key, parse_delay_table(text).map_err(wrong)?);
            }
        }
        Ok(())
    }
}

/// An error in line `line` of a file, from 1, or in the file as a whole if it is 0.
fn line_error(
    file: &str,
    key: &str,
    (line, text): (usize, &str),
    rule: &str,
    hint: Option<&str>,
) -> ScenarioErrors {
    let is_line = line > 0;
    let error = ScenarioError {
        key: if is_line { key.to_owned() } else { String::new() },
        line: is_line.then_some(line),
        value: is_line.then(|| format!("{text:?}")),
        rule: rule.to_owned(),
        hint: hint.map(str::to_owned),
    };
    ScenarioErrors::new(file, vec![error])
}

/// A line for each write with seconds, a comma and bytes. Empty lines, those that begin with `#`, and a first line that
/// names the columns say nothing.
fn writes_of_text(file: &str, text: &str) -> Result<Arc<[RecordedWrite]>, ScenarioErrors> {
    let wrong = |number, line, rule| line_error(file, "a write", (number, line), rule, None);
    let mut writes: Vec<RecordedWrite> = Vec::new();
    let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    let is_content = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    for (place, (number, line)) in lines.filter(is_content).enumerate() {
        if place == 0 && line.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            continue;
        }
        let write = write_of(line).map_err(|rule| wrong(number, line, rule))?;
        if writes.last().is_some_and(|last| write.at < last.at) {
            return Err(wrong(number, line, "it is earlier than the write before"));
        }
        writes.push(write);
    }
    if writes.is_empty() {
        return Err(wrong(1, "", "there is no write in it"));
    }
    Ok(writes.into())
}

fn write_of(line: &str) -> Result<RecordedWrite, &'static str> {
    let form = "a line has seconds, a comma and bytes: 0.035,1200";
    let (seconds, bytes) = line.split_once(',').ok_or(form)?;
    let at: Span = format!("{} s", seconds.trim()).parse().map_err(|_| form)?;
    let size: u64 = bytes.trim().parse().map_err(|_| form)?;
    if size == 0 {
        return Err("a write has one byte or more");
    }
    Ok(RecordedWrite { at, size: ByteCount::new(size) })
}

/// When a link may send, instead of a constant rate. The trace repeats at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "form", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = fairwind_qdisc::first_is_usual)]
pub enum RateTraceInput {
    /// Read from a file; `form` may then be left out.
    File {
        /// Name of a file in Mahimahi's packet-delivery format, relative to the scenario's folder: a whole number of
        /// milliseconds on each line, at which 1500 bytes may leave.
        file: String,
    },
    /// Instants at each of which 1500 bytes may leave, as Mahimahi records them (packet-delivery trace). Several small
    /// packets share one, a larger packet needs several, and unused ones are lost.
    Opportunities {
        /// Milliseconds from the beginning, never decreasing, the last above zero; the last is the length of the trace.
        milliseconds: Vec<u64>,
    },
    /// Rates, each for some time.
    Steps {
        /// In order.
        steps: Vec<RateStep>,
    },
}

impl RateTraceInput {
    /// The trace, or its error at `key`.
    pub(crate) fn resolve(&self, recordings: &Recordings, key: &str) -> Result<RateTrace, Fault> {
        let trace = match self {
            Self::File { file } => {
                return recordings.rate_trace(file).ok_or_else(|| unread(&format!("{key}.file")));
            }
            Self::Opportunities { milliseconds } => {
                RateTrace::Opportunities { milliseconds: milliseconds.clone() }
            }
            Self::Steps { steps } => RateTrace::Steps { steps: steps.clone() },
        };
        match trace.error() {
            Some(rule) => Err(Fault { key: key.to_owned(), rule: rule.to_owned(), hint: None }),
            None => Ok(trace),
        }
    }

    /// Its mean rate, where there is nothing wrong with it.
    pub(crate) fn mean_rate(&self, recordings: &Recordings) -> Option<BitRate> {
        self.resolve(recordings, "").ok().map(|trace| trace.mean_rate())
    }
}

/// Message for a file that was not provided.
pub(crate) fn unread(key: &str) -> Fault {
    Fault { key: key.to_owned(), rule: "this file was not read".to_owned(), hint: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(text: &str) -> Result<Vec<(u64, u64)>, String> {
        let mut recordings = Recordings::default();
        let named = NamedFile::writes("writes.csv", None);
        recordings.provide(&named, text).map_err(|errors| errors.to_string())?;
        let writes = recordings.writes("writes.csv", None).expect("they were provided");
        Ok(writes.iter().map(|write| (write.at.as_nanos(), write.size.get())).collect())
    }

    #[test]
    fn lines_become_writes() {
        let text = "seconds,bytes\n# a remark\n0,120\n\n0.035, 1200\n0.035000001,7\n";
        let expected = vec![(0, 120), (35_000_000, 1200), (35_000_001, 7)];
        assert_eq!(writes(text), Ok(expected));
    }

    #[test]
    fn invalid_write_is_reported_with_line() {
        for (text, expected) in [
            (
                "0,1\n1;2\n",
                "writes.csv:2: a write = \"1;2\": a line has seconds, a comma and bytes",
            ),
            ("seconds,bytes\n0,ten", "writes.csv:2"),
            ("-1,10", "writes.csv:1"),
            ("0,0", "a write has one byte or more"),
            (
                "1,1\n0.5,1",
                "writes.csv:2: a write = \"0.5,1\": it is earlier than the write before",
            ),
            ("seconds,bytes\n", "there is no write in it"),
            ("", "there is no write in it"),
        ] {
            let found = writes(text).expect_err("it is refused");
            assert!(found.contains(expected), "expected {expected}\nfound {found}");
        }
    }
}
