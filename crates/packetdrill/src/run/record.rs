//! Recordings: a script of stimuli becomes one with the system's responses.
//!
//! A stimulus is a system call, an injected packet, an ICMP message, a command or code. A recording
//! runs the stimuli at their times. It writes every packet that the system sends, the results of
//! calls that the script leaves open (`= ...`), and on request `TCP_INFO` after each injection. The
//! recording of one system can be run against another.

use super::runner::verify_return;
use super::settings::{RunOptions, Settings};
use super::simulated::Simulated;
use super::system::{Advance, ConnectionIndex, Progress, Returned, System};
use super::translation::Translation;
use super::verify::{Kind, without_defaults};
use crate::outcome::{Outcome, Step, Stop};
use crate::script::{
    Action, Call, Direction, Event, EventTime, Expression, Packet, Script, decimal,
};
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

/// Format of recorded times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordedTimes {
    /// From the event before, as scripts are usually written.
    #[default]
    Relative,
    /// From the start of the script, so that stimuli keep their times regardless of earlier events.
    Absolute,
}

/// Contents of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recording {
    /// Format of times.
    pub times: RecordedTimes,
    /// Whether the window of packets is written (`win`).
    pub windows: Windows,
    /// Fields of `TCP_INFO` that are asserted after each injected packet, if the system has them.
    pub fields: Vec<String>,
    /// How long the recording continues after the last stimulus. If it is not zero, a final event
    /// without effect makes a replay last as long.
    pub watch: Span,
}

/// Whether the window of recorded packets is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Windows {
    /// In none.
    #[default]
    Omitted,
    /// In every packet.
    Written,
}

/// Records the responses of our endpoint to the stimuli of a script, in virtual time.
///
/// Packets that the script expects are dropped, but their times count. Comments of `text`, the text
/// of the script, stay before their events.
///
/// # Errors
/// As for a run: if a stimulus is not possible, or a result differs from the script.
pub fn record(
    script: &Script,
    text: &str,
    options: &RunOptions,
    recording: &Recording,
) -> Result<String, Outcome> {
    let mut system = Simulated::new(&Settings::new(script, options)?, options);
    record_on(script, text, recording, &mut system)
}

/// Records the responses of any system to the stimuli of a script; see [`record`].
///
/// # Errors
/// As [`record`].
pub fn record_on(
    script: &Script,
    text: &str,
    recording: &Recording,
    system: &mut dyn System,
) -> Result<String, Outcome> {
    let recorded = Recorder::record(script, recording, system)?;
    Ok(write(script, text, recording, &recorded))
}

/// One event of a recording.
#[derive(Debug, Clone)]
struct Line {
    /// When it should have happened, for a stimulus; when it did, for a packet.
    due: Instant,
    /// When it did.
    at: Instant,
    kind: Kind,
    action: Action,
    /// When a call returned that waited.
    returned: Option<Instant>,
    /// The line of the stimulus.
    source: Option<u32>,
}

impl Line {
    /// What the stimulus has not written.
    fn seen(at: Instant, action: Action) -> Self {
        Self { due: at, at, kind: Kind::Other, action, returned: None, source: None }
    }
}

/// All that happened, and when it began.
#[derive(Debug)]
struct Recorded {
    origin: Instant,
    lines: Vec<Line>,
    end: Instant,
}

struct Recorder<'a> {
    recording: &'a Recording,
    system: &'a mut dyn System,
    translations: BTreeMap<ConnectionIndex, Translation>,
    lines: Vec<Line>,
    /// Place of the call that waits.
    waiting: Option<usize>,
}

impl<'a> Recorder<'a> {
    fn record(
        script: &Script,
        recording: &'a Recording,
        system: &'a mut dyn System,
    ) -> Result<Recorded, Outcome> {
        let mut recorder = Self {
            recording,
            system,
            translations: BTreeMap::new(),
            lines: Vec::new(),
            waiting: None,
        };
        let mut line = script.preparation.as_ref().map(|command| command.line);
        let followed = recorder.follow(script, &mut line);
        let cleaned = script.cleanup.iter().try_for_each(|command| {
            line = line.filter(|_| followed.is_err()).or(Some(command.line));
            recorder.system.clean_up(&command.text)
        });
        match (followed, cleaned) {
            (Ok((origin, end)), Ok(())) => Ok(Recorded { origin, lines: recorder.lines, end }),
            (Err(stop), _) | (_, Err(stop)) => Err(stop.outcome(&script.name, line, Vec::new())),
        }
    }

    fn follow(&mut self, script: &Script, line: &mut Option<u32>) -> Step<(Instant, Instant)> {
        if let Some(command) = &script.preparation {
            self.system.command(&command.text)?;
        }
        let origin = self.system.now();
        let mut last = origin;
        for event in &script.events {
            *line = Some(event.line);
            let due = match event.time {
                EventTime::Any => last,
                EventTime::Absolute(at) | EventTime::AbsoluteRange(at, _) => origin + at,
                EventTime::Relative(after) | EventTime::RelativeRange(after, _) => last + after,
            };
            last = due;
            if matches!(&event.action, Action::Packet(packet) if packet.direction == Direction::Out)
            {
                continue;
            }
            self.advance_until(due)?;
            last = self.stimulate(event, due)?.max(due);
        }
        let end = last + self.recording.watch;
        self.advance_until(end)?;
        match self.waiting {
            Some(_) => Err(Stop::failed("a call has not returned until the end")),
            None => Ok((origin, end)),
        }
    }

    fn advance_until(&mut self, limit: Instant) -> Step<()> {
        loop {
            let passed = self.system.pass(limit)?;
            self.ask_waiting()?;
            self.take_sent();
            if passed == Advance::Settled {
                return Ok(());
            }
        }
    }

    /// Runs a stimulus; returns the earliest time of the next one.
    fn stimulate(&mut self, event: &Event, due: Instant) -> Step<Instant> {
        let kind = match &event.action {
            Action::Packet(_) | Action::Icmp(_) => Kind::Injection,
            _ => Kind::Other,
        };
        let place = self.lines.len();
        let at = self.system.now();
        let source = Some(event.line);
        let action = event.action.clone();
        self.lines.push(Line { due, at, kind, action, returned: None, source });
        match &event.action {
            Action::Packet(packet) => {
                let connection = self.system.connection_for(packet)?;
                self.take_sent();
                let translation = self.translations.entry(connection).or_default();
                translation.on_injected(packet);
                let live = translation.to_live(packet);
                self.system.inject(connection, &live)?;
                self.after_injection()?;
            }
            Action::Icmp(message) => {
                let connection = self.system.connection_for_message()?;
                self.take_sent();
                let live = self.translations.entry(connection).or_default();
                let live = live.message_to_live(message);
                self.system.inject_message(connection, &live)?;
                self.after_injection()?;
            }
            Action::Call(call) => self.call(call, place)?,
            Action::Command(text) => {
                self.system.command(text)?;
                return Ok(self.system.now());
            }
            Action::Code(_) => {}
            Action::Foreign(text) => {
                return Err(Stop::unsupported(format!("a packet of another protocol: {text}")));
            }
        }
        Ok(due)
    }

    fn call(&mut self, call: &Call, place: usize) -> Step<()> {
        if self.waiting.is_some() {
            return Err(Stop::failed("the call before has not returned yet"));
        }
        match self.system.call(call)? {
            Progress::Returned(returned) => self.returned(place, returned, call.end.is_some()),
            Progress::Waits => {
                self.waiting = Some(place);
                Ok(())
            }
        }
    }

    fn ask_waiting(&mut self) -> Step<()> {
        let Some(place) = self.waiting else { return Ok(()) };
        if let Progress::Returned(returned) = self.system.waiting_call()? {
            self.waiting = None;
            self.returned(place, returned, true)?;
        }
        Ok(())
    }

    /// Fills in the result of a call where the script leaves it open.
    fn returned(&mut self, place: usize, returned: Returned, waited: bool) -> Step<()> {
        let line = &mut self.lines[place];
        let Action::Call(call) = &mut line.action else { return Ok(()) };
        line.returned = waited.then_some(returned.at);
        if call.result == Expression::Any {
            call.result = Expression::Integer(returned.value);
            call.error = returned.error.map(std::borrow::Cow::into_owned);
            return Ok(());
        }
        verify_return(call, &returned)
    }

    /// Records the packets that the system has sent.
    fn take_sent(&mut self) {
        while let Some(sent) = self.system.take_sent() {
            let translation = self.translations.entry(sent.connection).or_default();
            let packet = without_defaults(translation.adopt(&sent.packet));
            let written = self.recording.windows == Windows::Written;
            let window = packet.window.filter(|_| written);
            let packet = Packet { window, ..packet };
            self.lines.push(Line::seen(sent.at, Action::Packet(packet)));
        }
    }

    /// Records `TCP_INFO`.
    fn after_injection(&mut self) -> Step<()> {
        self.ask_waiting()?;
        if self.recording.fields.is_empty() {
            return Ok(());
        }
        // A system without `TCP_INFO` has no values.
        let info = self.system.information().unwrap_or_default();
        let known = self.recording.fields.iter().filter_map(|field| {
            let (_, value) = info.iter().find(|(name, _)| name == field)?;
            Some(format!("assert {field} == {value}, {field}"))
        });
        let code = known.collect::<Vec<_>>().join("\n");
        if !code.is_empty() {
            let action = Action::Code(format!("\n{code}\n"));
            self.lines.push(Line::seen(self.system.now(), action));
        }
        Ok(())
    }
}

fn write(script: &Script, text: &str, recording: &Recording, recorded: &Recorded) -> String {
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
        // Code without effect marks the end of the recording.
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
    // The end time is part of the time for events that write it.
    let action = match &line.action {
        Action::Call(call) => Action::Call(Call { end: None, ..call.clone() }),
        other => other.clone(),
    };
    format!("{prefix}{time}{end} {action}")
}

/// Rounds to the millisecond: finer than any tolerance, coarser than the difference of two runs.
fn rounded(span: Span) -> Span {
    let millis = (span.as_micros() + 500) / 1000;
    Span::from_millis(millis)
}

/// Comments of the stimuli, which are copied unchanged.
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
