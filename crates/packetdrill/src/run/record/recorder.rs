//! Letting stimuli happen, and noting what comes of them.

use super::{Recording, Windows};
use crate::outcome::{Outcome, Step, Stop};
use crate::run::runner::{judge_return, outcome};
use crate::run::system::{ConnectionIndex, Passed, Progress, Returned, System};
use crate::run::timeline::Kind;
use crate::run::translation::Translation;
use crate::script::{Action, Call, Direction, Event, EventTime, Expression, Mark, Packet, Script};
use fairwind_units::Instant;
use std::collections::BTreeMap;

/// One event of a recording.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// When it should have happened, for a stimulus; when it did, for a packet.
    pub(super) due: Instant,
    /// When it did.
    pub(super) at: Instant,
    pub(super) kind: Kind,
    pub(super) action: Action,
    /// When a call returned that waited.
    pub(super) returned: Option<Instant>,
    /// The line of the stimulus.
    pub(super) source: Option<u32>,
}

/// All that happened, and when it began.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) origin: Instant,
    pub(super) lines: Vec<Line>,
    /// The last instant that was watched.
    pub(super) end: Instant,
}

pub(super) struct Recorder<'a> {
    recording: &'a Recording,
    system: &'a mut dyn System,
    translations: BTreeMap<ConnectionIndex, Translation>,
    lines: Vec<Line>,
    /// Place of the call that waits.
    waiting: Option<usize>,
}

impl<'a> Recorder<'a> {
    pub(super) fn record(
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
            (Err(stop), _) | (_, Err(stop)) => Err(outcome(script, line, stop, Vec::new())),
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
            self.pass_until(due)?;
            last = self.stimulate(event, due)?.max(due);
        }
        let end = last + self.recording.watch;
        self.pass_until(end)?;
        match self.waiting {
            Some(_) => Err(Stop::failed("a call has not returned until the end")),
            None => Ok((origin, end)),
        }
    }

    fn pass_until(&mut self, limit: Instant) -> Step<()> {
        loop {
            let passed = self.system.pass(limit)?;
            self.ask_waiting()?;
            self.take_sent();
            if passed == Passed::Settled {
                return Ok(());
            }
        }
    }

    /// Lets a stimulus happen, and returns when the next one may at the earliest.
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
                let live = self.translations.entry(connection).or_default().to_live(packet);
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
        judge_return(call, &returned)
    }

    /// Notes what the system has sent.
    fn take_sent(&mut self) {
        while let Some(sent) = self.system.take_sent() {
            let translation = self.translations.entry(sent.connection).or_default();
            let packet = self.recording.packet(translation.adopt(&sent.packet));
            self.lines.push(Line {
                due: sent.at,
                at: sent.at,
                kind: Kind::Other,
                action: Action::Packet(packet),
                returned: None,
                source: None,
            });
        }
    }

    /// Writes down what the system tells of itself.
    fn after_injection(&mut self) -> Step<()> {
        self.ask_waiting()?;
        if self.recording.fields.is_empty() {
            return Ok(());
        }
        // Where nothing can be asked, nothing is told.
        let told = self.system.information().unwrap_or_default();
        let known = self.recording.fields.iter().filter_map(|field| {
            let (_, value) = told.iter().find(|(name, _)| name == field)?;
            Some(format!("assert {field} == {value}, {field}"))
        });
        let code = known.collect::<Vec<_>>().join("\n");
        if !code.is_empty() {
            let now = self.system.now();
            let action = Action::Code(format!("\n{code}\n"));
            let line =
                Line { due: now, at: now, kind: Kind::Other, action, returned: None, source: None };
            self.lines.push(line);
        }
        Ok(())
    }
}

impl Recording {
    /// A packet as it is to be written.
    fn packet(&self, packet: Packet) -> Packet {
        Packet {
            mark: packet.mark.filter(|mark| *mark != Mark::NotCapable),
            traffic_class: packet.traffic_class.filter(|octet| octet & !3 != 0),
            window: packet.window.filter(|_| self.windows == Windows::Written),
            ..packet
        }
    }
}
