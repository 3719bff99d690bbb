//! Writes that are read from files of text, which somebody else opens.

use crate::error::{ScenarioError, ScenarioErrors};
use crate::workload::RecordedWrite;
use fairwind_units::{ByteCount, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The writes of files that a scenario names, by these names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recordings(BTreeMap<String, Arc<[RecordedWrite]>>);

impl Recordings {
    /// The writes of the file called so, where they were provided.
    pub(crate) fn writes(&self, file: &str) -> Option<Arc<[RecordedWrite]>> {
        self.0.get(file).cloned()
    }

    /// Takes the text of the file called `file`: a line for each write with seconds, a comma and bytes.
    /// Empty lines, those that begin with `#`, and a first line that names the columns say nothing.
    ///
    /// # Errors
    /// The first line that is no write, or comes before the one above it in time.
    pub(crate) fn provide(&mut self, file: &str, text: &str) -> Result<(), ScenarioErrors> {
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
        self.0.insert(file.to_owned(), writes.into());
        Ok(())
    }
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
        recordings.provide("writes.csv", text).map_err(|errors| errors.to_string())?;
        let writes = recordings.writes("writes.csv").expect("they were provided");
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
