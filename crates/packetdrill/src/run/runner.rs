//! The event loop of a script, and its time line.

use super::judge;
use super::settings::Settings;
use super::system::{Advance, ConnectionIndex, Progress, Returned, Sent, System};
use super::translation::Translation;
use super::{RunOptions, TrailingPackets, tcp_info};
use crate::code::{self, Environment};
use crate::outcome::{Exchange, Failure, Outcome, Step, Stop, Unsupported};
use crate::script::{Action, Call, Direction, Event, EventTime, Expression, Script, decimal};
use fairwind_units::{Instant, Span};
use std::collections::{BTreeMap, VecDeque};

/// A call that waits.
struct Waiting<'a> {
    event: &'a Event,
    call: &'a Call,
    due: Due,
    /// It has returned otherwise than it should.
    broken: bool,
}

/// What went wrong, and in which line.
struct LineFailure {
    line: Option<u32>,
    stop: Stop,
}

/// An expected packet that came.
pub(super) struct MetPacket {
    pub(super) due: Option<Due>,
    /// When its first segment was sent.
    pub(super) at: Instant,
    /// Its segments, as a script would write them.
    pub(super) seen: Vec<String>,
}

/// The state of one run.
pub(super) struct Runner<'a> {
    pub(super) options: &'a RunOptions,
    pub(super) settings: Settings,
    pub(super) system: &'a mut dyn System,
    pub(super) translations: BTreeMap<ConnectionIndex, Translation>,
    /// What the system has sent and nobody has judged yet, in the order of sending.
    pub(super) sent: VecDeque<Sent>,
    pub(super) timeline: Timeline,
    environment: Environment,
    waiting: Option<Waiting<'a>>,
    dialogue: Vec<Exchange>,
}

impl<'a> Runner<'a> {
    pub(super) fn run(
        script: &'a Script,
        options: &'a RunOptions,
        settings: Settings,
        system: &'a mut dyn System,
    ) -> Outcome {
        let mut runner = Self {
            options,
            timeline: Timeline::new(system.now()),
            system,
            translations: BTreeMap::new(),
            sent: VecDeque::new(),
            settings,
            environment: Environment::default(),
            waiting: None,
            dialogue: Vec::new(),
        };
        let followed = runner.follow(script);
        // However it ended, what was begun is cleaned up; the first thing that went wrong counts.
        let cleaned = runner.clean_up(script);
        match followed.and(cleaned) {
            Ok(()) => Outcome::Passed,
            Err(LineFailure { line, stop }) => outcome(script, line, stop, runner.dialogue),
        }
    }

    fn clean_up(&mut self, script: &Script) -> Result<(), LineFailure> {
        let Some(command) = &script.cleanup else { return Ok(()) };
        let done = self.system.clean_up(&command.text);
        done.map_err(|stop| LineFailure { line: Some(command.line), stop })
    }

    fn follow(&mut self, script: &'a Script) -> Result<(), LineFailure> {
        if let Some(command) = &script.preparation {
            let done = self.system.command(&command.text);
            done.map_err(|stop| LineFailure { line: Some(command.line), stop })?;
        }
        let origin = self.system.now();
        self.timeline = Timeline::new(origin);
        self.system.begin(origin, self.settings.tolerance);
        for event in &script.events {
            if let Err(stop) = self.event(event) {
                // A waiting call that went wrong has its own line.
                let line = self.line_of_failure(event);
                self.note_failure(event, line, &stop);
                return Err(LineFailure { line: Some(line), stop });
            }
        }
        self.finish()
    }

    /// The line that is to blame while `event` is followed: that of the waiting call, if it has just
    /// returned, or the event's own.
    fn line_of_failure(&self, event: &Event) -> u32 {
        match &self.waiting {
            Some(waiting) if waiting.broken => waiting.event.line,
            _ => event.line,
        }
    }

    fn event(&mut self, event: &'a Event) -> Step<()> {
        match &event.action {
            Action::Packet(packet) if packet.direction == Direction::Out => {
                let met = self.expect(packet, event.time)?;
                self.record_met(event, met);
                Ok(())
            }
            Action::Packet(packet) => {
                let due = self.wait_for(event, Kind::Injection)?;
                self.inject(packet)?;
                self.note(event, due, Kind::Injection);
                self.try_waiting()
            }
            Action::Icmp(message) => {
                let due = self.wait_for(event, Kind::Injection)?;
                self.inject_message(message)?;
                self.note(event, due, Kind::Injection);
                self.try_waiting()
            }
            Action::Foreign(text) => Err(Stop::unsupported(format!(
                "packets of other protocols are not known here: {text}"
            ))),
            Action::Call(call) => self.call(event, call),
            Action::Command(text) => {
                let due = self.wait_for(event, Kind::Other)?;
                self.system.command(text)?;
                self.note(event, due, Kind::Other);
                Ok(())
            }
            Action::Code(text) => {
                let due = self.wait_for(event, Kind::Other)?;
                self.code(text)?;
                self.note(event, due, Kind::Other);
                Ok(())
            }
        }
    }

    /// Lets time pass until an event is due.
    fn wait_for(&mut self, event: &Event, kind: Kind) -> Step<Option<Due>> {
        let due = self.timeline.due(event.time, kind, &self.settings);
        if let Some(due) = due {
            self.pass_until(due.earliest)?;
        }
        Ok(due)
    }

    /// Lets time pass to `limit`, and what is due at that very instant happen.
    pub(super) fn pass_until(&mut self, limit: Instant) -> Step<()> {
        while self.pass_some(limit)? == Advance::Happened {}
        Ok(())
    }

    /// Lets time pass until something happens, or to `limit`.
    pub(super) fn pass_some(&mut self, limit: Instant) -> Step<Advance> {
        let passed = self.system.pass(limit)?;
        self.try_waiting()?;
        Ok(passed)
    }

    fn call(&mut self, event: &'a Event, call: &'a Call) -> Step<()> {
        let due = self.wait_for(event, Kind::Other)?;
        self.await_return()?;
        let end = call.end.map(|end| self.timeline.due_end(event.time, end, &self.settings));
        let end = end.map(|end| end.with_lag(self.system.lag()));
        match (self.system.call(call)?, end) {
            (Progress::Returned(returned), end) => {
                self.note(event, due, Kind::Other);
                if let Some(end) = end {
                    self.timeline.judge(end, returned.at)?;
                }
                judge_return(call, &returned)
            }
            (Progress::Waits, Some(due_end)) => {
                self.note(event, due, Kind::Other);
                self.waiting = Some(Waiting { event, call, due: due_end, broken: false });
                Ok(())
            }
            (Progress::Waits, None) => Err(Stop::failed(
                "the call waits; write when it returns (`start...end`) if it should",
            )),
        }
    }

    /// Lets the waiting call return before the next one: there is one application.
    fn await_return(&mut self) -> Step<()> {
        while let Some(waiting) = &self.waiting {
            let message = format!(
                "the call of line {} has not returned yet: {}",
                waiting.event.line, waiting.call
            );
            let limit = waiting.due.limit();
            if self.pass_some(limit)? == Advance::Settled && self.waiting.is_some() {
                return Err(Stop::failed(message));
            }
        }
        Ok(())
    }

    /// Asks for the waiting call again, and judges it where it returns.
    pub(super) fn try_waiting(&mut self) -> Step<()> {
        let Some(waiting) = self.waiting.take() else { return Ok(()) };
        let judged = match self.system.waiting_call() {
            Ok(Progress::Waits) => {
                self.waiting = Some(waiting);
                return Ok(());
            }
            Ok(Progress::Returned(returned)) => self
                .timeline
                .judge(waiting.due, returned.at)
                .and_then(|()| judge_return(waiting.call, &returned)),
            Err(stop) => Err(stop),
        };
        if judged.is_err() {
            self.waiting = Some(Waiting { broken: true, ..waiting });
        }
        judged
    }

    fn code(&mut self, text: &str) -> Step<()> {
        tcp_info::tell(&self.system.information()?, &mut self.environment);
        code::run(text, &mut self.environment)
    }

    /// After the last event: the waiting call must return, and nothing be left over.
    fn finish(&mut self) -> Result<(), LineFailure> {
        while let Some(waiting) = &self.waiting {
            let (event, limit) = (waiting.event, waiting.due.limit());
            let passed = self.pass_some(limit);
            let stop = match passed {
                Err(stop) => stop,
                Ok(Advance::Settled) if self.waiting.is_some() => {
                    Stop::failed("the call has not returned in time")
                }
                Ok(_) => continue,
            };
            self.note_failure(event, event.line, &stop);
            return Err(LineFailure { line: Some(event.line), stop });
        }
        self.collect_sent();
        match self.sent.pop_front() {
            Some(sent) if self.options.trailing == TrailingPackets::Refused => {
                let translation = self.translations.entry(sent.connection).or_default();
                let packet = judge::shown(translation.to_script(&sent.packet));
                self.dialogue.push(Exchange {
                    line: None,
                    expected: "(nothing more)".to_owned(),
                    at: self.timeline.elapsed(sent.at),
                    seen: vec![packet.clone()],
                });
                let stop = Stop::failed(format!("a packet that nobody expected: {packet}"));
                Err(LineFailure { line: None, stop })
            }
            _ => Ok(()),
        }
    }

    fn note(&mut self, event: &Event, due: Option<Due>, kind: Kind) {
        let now = self.system.now();
        self.timeline.note(due, now, kind);
        self.dialogue.push(Exchange {
            line: Some(event.line),
            expected: event.to_string(),
            at: self.timeline.elapsed(now),
            seen: Vec::new(),
        });
    }

    fn record_met(&mut self, event: &Event, met: MetPacket) {
        self.timeline.note(met.due, met.at, Kind::Other);
        self.dialogue.push(Exchange {
            line: Some(event.line),
            expected: event.to_string(),
            at: self.timeline.elapsed(met.at),
            seen: met.seen,
        });
    }

    /// Ends the dialogue with the line that does not hold.
    fn note_failure(&mut self, event: &Event, line: u32, stop: &Stop) {
        let Stop::Failed(message) = stop else { return };
        let expected = match &self.waiting {
            Some(waiting) if waiting.event.line == line => waiting.event.to_string(),
            _ => event.to_string(),
        };
        self.dialogue.push(Exchange {
            line: Some(line),
            expected,
            at: self.timeline.elapsed(self.system.now()),
            seen: message
                .lines()
                .skip(1)
                .chain(message.lines().take(1))
                .map(str::to_owned)
                .collect(),
        });
    }
}

pub(super) fn judge_return(call: &Call, returned: &Returned) -> Step<()> {
    let value_met = match &call.result {
        Expression::Any => true,
        expression => super::sockets::value(expression)? == returned.value,
    };
    let error_met = match (&call.error, &call.result) {
        (Some(expected), _) => returned.error.as_deref() == Some(expected.as_str()),
        (None, Expression::Any) => true,
        // A failure without its name leaves open which it is.
        (None, _) => returned.error.is_none() || returned.value == -1 && value_met,
    };
    if value_met && error_met {
        return Ok(());
    }
    let error = returned.error.as_ref().map_or_else(String::new, |error| format!(" {error}"));
    Err(Stop::failed(format!(
        "the result: expected {}{}, seen {}{error}",
        call.result,
        call.error.as_ref().map_or_else(String::new, |error| format!(" {error}")),
        returned.value
    )))
}

pub(super) fn outcome(
    script: &Script,
    line: Option<u32>,
    stop: Stop,
    dialogue: Vec<Exchange>,
) -> Outcome {
    let script = script.name.clone();
    match stop {
        Stop::Failed(message) => {
            // The further lines tell what was seen; they stand in the dialogue.
            let message = message.lines().next().unwrap_or_default().to_owned();
            Outcome::Failed(Failure { script, line, message, dialogue })
        }
        Stop::Unsupported(reason) => Outcome::Unsupported(Unsupported { script, line, reason }),
    }
}

/// Whether an event is a packet that the script injects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Injection,
    Other,
}

/// The times of the script so far.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// When the script began.
    origin: Instant,
    /// When the last event should have happened, and when it did.
    scripted: Instant,
    happened: Instant,
    kind: Kind,
}

/// When an event is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) earliest: Instant,
    pub(crate) latest: Instant,
    tolerance: Span,
    /// How much later still the system's own timers may make it.
    lag: Span,
}

impl Due {
    /// The latest instant at which the event would still be on time.
    pub(crate) fn limit(&self) -> Instant {
        self.latest + self.tolerance + self.lag
    }

    /// The same for what a system does by itself, whose timers may run out later by `lag`.
    pub(crate) fn with_lag(self, lag: Span) -> Self {
        Self { lag, ..self }
    }
}

impl Timeline {
    pub(crate) fn new(origin: Instant) -> Self {
        Self { origin, scripted: origin, happened: origin, kind: Kind::Other }
    }

    /// Time since the script began.
    pub(crate) fn elapsed(&self, at: Instant) -> Span {
        at.saturating_since(self.origin)
    }

    /// What a relative time counts from: when the event before really happened, but when it should
    /// have happened between two injections.
    fn base(&self, kind: Kind) -> Instant {
        if kind == Kind::Injection && self.kind == Kind::Injection {
            self.scripted
        } else {
            self.happened
        }
    }

    /// When an event of this time is due; `None` for any time.
    pub(crate) fn due(&self, time: EventTime, kind: Kind, settings: &Settings) -> Option<Due> {
        let base = self.base(kind);
        let (earliest, latest) = match time {
            EventTime::Any => return None,
            EventTime::Absolute(at) => (self.origin + at, self.origin + at),
            EventTime::Relative(after) => (base + after, base + after),
            EventTime::AbsoluteRange(from, to) => (self.origin + from, self.origin + to),
            EventTime::RelativeRange(from, to) => (base + from, base + to),
        };
        let tolerance = settings.tolerance_after(earliest.saturating_since(self.happened));
        Some(Due { earliest, latest, tolerance, lag: Span::ZERO })
    }

    /// When a blocking call that began with an event of this time is due to return.
    pub(crate) fn due_end(&self, time: EventTime, end: Span, settings: &Settings) -> Due {
        let (base, begin) = match time {
            EventTime::Absolute(at) | EventTime::AbsoluteRange(at, _) => (self.origin, at),
            EventTime::Relative(after) | EventTime::RelativeRange(after, _) => {
                (self.base(Kind::Other), after)
            }
            EventTime::Any => (self.happened, Span::ZERO),
        };
        let tolerance = settings.tolerance_after(end.saturating_sub(begin));
        Due { earliest: base + end, latest: base + end, tolerance, lag: Span::ZERO }
    }

    /// Notes that an event has happened.
    pub(crate) fn note(&mut self, due: Option<Due>, happened: Instant, kind: Kind) {
        self.scripted = due.map_or(happened, |due| due.earliest);
        self.happened = happened;
        self.kind = kind;
    }

    /// Judges when something happened.
    pub(crate) fn judge(&self, due: Due, happened: Instant) -> Step<()> {
        let early = happened + due.tolerance < due.earliest;
        if !early && happened <= due.limit() {
            return Ok(());
        }
        let at = |instant| decimal(self.elapsed(instant));
        let expected = if due.earliest == due.latest {
            at(due.earliest)
        } else {
            format!("{} to {}", at(due.earliest), at(due.latest))
        };
        Err(Stop::failed(format!(
            "the time: expected {expected} s, seen {} s (tolerance {} s)",
            at(happened),
            decimal(if early { due.tolerance } else { due.tolerance + due.lag })
        )))
    }
}
