//! What files hold that a scenario names and somebody else opens: writes, rates, losses, delays; and which
//! congestion controls somebody else has.

use crate::error::{ScenarioError, ScenarioErrors};
use crate::named_file::{FileContent, NamedFile};
use crate::workload::RecordedWrite;
use fairwind_qdisc::{LineError, RateTrace, parse_delay_table, parse_losses};
use fairwind_units::{ByteCount, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is in the files that a scenario names.
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
        let wrong = |fault| line_fault(named, text, fault);
        let named = named.clone();
        match named.content {
            FileContent::Writes => {
                let writes = writes_of_text(&named.file, text)?;
                self.writes.insert(named, writes);
            }
            FileContent::RateTrace => {
                let trace = RateTrace::from_mahimahi(text).map_err(wrong)?;
                self.traces.insert(named, trace);
            }
            FileContent::Losses => {
                let losses = parse_losses(text).map_err(wrong)?;
                self.losses.insert(named, losses);
            }
            FileContent::Delays => {
                let delays = parse_delay_table(text).map_err(wrong)?;
                self.delays.insert(named, delays);
            }
        }
        Ok(())
    }
}

/// A line that is wrong, with what the file should be like.
fn line_fault(named: &NamedFile, text: &str, (line, rule): LineError) -> ScenarioErrors {
    let value = text.lines().nth(line.wrapping_sub(1)).unwrap_or_default();
    let value: String = value.chars().take(60).collect();
    let error = ScenarioError {
        key: if line > 0 { "a line".to_owned() } else { String::new() },
        line: (line > 0).then_some(line),
        value: (line > 0).then(|| format!("{value:?}")),
        rule: rule.to_owned(),
        hint: Some(named.content.form().to_owned()),
    };
    ScenarioErrors::new(&named.file, vec![error])
}

/// A line for each write with seconds, a comma and bytes. Empty lines, those that begin with `#`, and a first line that
/// names the columns say nothing.
fn writes_of_text(file: &str, text: &str) -> Result<Arc<[RecordedWrite]>, ScenarioErrors> {
    let mut writes: Vec<RecordedWrite> = Vec::new();
    let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    let told = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    for (place, (number, line)) in lines.filter(told).enumerate() {
        if place == 0 && line.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            continue;
        }
        let write = write_of(line).map_err(|rule| fault(file, number, line, rule))?;
        if writes.last().is_some_and(|last| write.at < last.at) {
            let rule = "it is earlier than the write before".to_owned();
            return Err(fault(file, number, line, rule));
        }
        writes.push(write);
    }
    if writes.is_empty() {
        return Err(fault(file, 1, "", "there is no write in it".to_owned()));
    }
    Ok(writes.into())
}

fn write_of(line: &str) -> Result<RecordedWrite, String> {
    let form = || "a line has seconds, a comma and bytes: 0.035,1200".to_owned();
    let (seconds, bytes) = line.split_once(',').ok_or_else(form)?;
    let at: Span = format!("{} s", seconds.trim()).parse().map_err(|_| form())?;
    let size: u64 = bytes.trim().parse().map_err(|_| form())?;
    if size == 0 {
        return Err("a write has one byte or more".to_owned());
    }
    Ok(RecordedWrite { at, size: ByteCount::new(size) })
}

fn fault(file: &str, line: usize, value: &str, rule: String) -> ScenarioErrors {
    let key = "a write".to_owned();
    let error = ScenarioError {
        key,
        line: Some(line),
        value: Some(format!("{value:?}")),
        rule,
        hint: None,
    };
    ScenarioErrors::new(file, vec![error])
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
    fn what_is_no_write_is_named_with_its_line() {
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
