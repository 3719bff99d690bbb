//! A recording as the text of a script.

use super::recorder::{Line, Recorded};
use super::{RecordedTimes, Recording};
use crate::run::timeline::Kind;
use crate::script::{Action, Call, Script, decimal};
use fairwind_units::{Instant, Span};

/// The whole script.
pub(super) fn write(
    script: &Script,
    text: &str,
    recording: &Recording,
    recorded: &Recorded,
) -> String {
    let mut written = Vec::new();
    let mut comments = Comments { source: text.lines().collect(), next: 0 };
    for option in &script.options {
        comments.copy_before(option.line, &mut written);
        written.push(match &option.value {
            Some(value) => format!("--{}={value}", option.name),
            None => format!("--{}", option.name),
        });
    }
    if let Some(command) = &script.preparation {
        comments.copy_before(command.line, &mut written);
        written.push(format!("`{}`", command.text));
    }
    let mut before = None;
    for line in &recorded.lines {
        if let Some(source) = line.source {
            comments.copy_before(source, &mut written);
        }
        written.push(one(line, before, recorded.origin, recording.times));
        before = Some(line);
    }
    if !recording.watch.is_zero() {
        // Code that does nothing ends the watch.
        let time = match (recording.times, before) {
            (RecordedTimes::Relative, Some(before)) => {
                format!("+{}", decimal(rounded(recorded.end.saturating_since(before.at))))
            }
            _ => decimal(rounded(recorded.end.saturating_since(recorded.origin))),
        };
        written.push(format!("{time} %{{ True }}%"));
    }
    if let Some(command) = &script.cleanup {
        written.push(format!("`{}`", command.text));
    }
    written.join("\n") + "\n"
}

fn one(line: &Line, before: Option<&Line>, origin: Instant, times: RecordedTimes) -> String {
    let (base, prefix) = match (times, before) {
        (RecordedTimes::Relative, Some(before)) => {
            let injections = line.kind == Kind::Injection && before.kind == Kind::Injection;
            (if injections { before.due } else { before.at }, "+")
        }
        _ => (origin, ""),
    };
    let from_base = |at: Instant| decimal(rounded(at.saturating_since(base)));
    let end = line.returned.map_or_else(String::new, |end| format!("...{}", from_base(end)));
    let time = from_base(line.due);
    // The end stands in the time, where an event writes it.
    let action = match &line.action {
        Action::Call(call) => Action::Call(Call { end: None, ..call.clone() }),
        other => other.clone(),
    };
    format!("{prefix}{time}{end} {action}")
}

/// To the millisecond: finer than any tolerance, coarser than what two runs differ by.
fn rounded(span: Span) -> Span {
    let millis = (span.as_micros() + 500) / 1000;
    Span::from_millis(millis)
}

/// The comments of the stimuli, which are copied as they stand.
struct Comments<'a> {
    source: Vec<&'a str>,
    next: usize,
}

impl Comments<'_> {
    /// Copies comments and empty lines up to the line `line`, which counts from 1.
    fn copy_before(&mut self, line: u32, written: &mut Vec<String>) {
        let end = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        while self.next < end.min(self.source.len()) {
            let text = self.source[self.next].trim();
            if text.is_empty() || text.starts_with("//") || text.starts_with('#') {
                written.push(text.to_owned());
            }
            self.next += 1;
        }
    }
}
