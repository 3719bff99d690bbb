//! Event loop of a script: waits, injects packets and verifies sent packets.

use super::settings::{RunOptions, Settings, Strictness, TrailingPackets};
use super::system::{Advance, ConnectionIndex, Progress, Returned, Sent, System};
use super::tcp_info;
use super::translation::Translation;
use super::verify::{self, Due, Kind, Timeline, without_defaults};
use crate::code::{self, Environment};
use crate::outcome::{Exchange, Outcome, Step, Stop};
use crate::script::{
    Action, Call, Direction, Event, EventTime, Expression, Icmp, Packet, Script, decimal,
};
use fairwind_units::{Instant, Span};
use std::collections::{BTreeMap, VecDeque};

/// How long to wait for a packet with any time (`*`).
const MAX_WAIT: Span = Span::from_secs(3600);

struct Waiting<'a> {
    event: &'a Event,
    call: &'a Call,
    due: Due,
    /// It has returned otherwise than it should.
    broken: bool,
}

struct LineFailure {
    line: Option<u32>,
    stop: Stop,
}

struct MatchedPacket {
    due: Option<Due>,
    /// When its first segment was sent.
    at: Instant,
    /// Its segments, as a script would write them.
    seen: Vec<String>,
}

pub(super) struct Runner<'a> {
    options: &'a RunOptions,
    settings: Settings,
    system: &'a mut dyn System,
    translations: BTreeMap<ConnectionIndex, Translation>,
    /// Sent packets that are not verified yet, in order.
    sent: VecDeque<Sent>,
    timeline: Timeline,
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
        // Cleanup always runs; the first failure counts.
        let cleaned = runner.clean_up(script);
        match followed.and(cleaned) {
            Ok(()) => Outcome::Passed,
            Err(LineFailure { line, stop }) => stop.outcome(&script.name, line, runner.dialogue),
        }
    }

    fn clean_up(&mut self, script: &Script) -> Result<(), LineFailure> {
        let Some(command) = &script.cleanup else { return Ok(()) };
        let done = self.system.clean_up(&command.text);
        done.map_err(|stop| LineFailure { line: Some(command.line), stop })
    }

    fn follow(&mut self, script: &'a Script) -> Result<(), LineFailure> {
        for file in self.settings.first_commands.clone() {
            self.system.command(&file).map_err(|stop| LineFailure { line: None, stop })?;
        }
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

    /// Line to blame while `event` runs: that of the waiting call, if it has just returned, else
    /// that of the event.
    fn line_of_failure(&self, event: &Event) -> u32 {
        match &self.waiting {
            Some(waiting) if waiting.broken => waiting.event.line,
            _ => event.line,
        }
    }

    fn event(&mut self, event: &'a Event) -> Step<()> {
        let kind = match &event.action {
            Action::Packet(packet) if packet.direction == Direction::Out => {
                let met = self.expect(packet, event.time)?;
                self.note(event, met.due, met.at, Kind::Other, met.seen);
                if self.settings.strictness == Strictness::Tool {
                    self.timeline.note(met.due, self.system.now(), Kind::Other);
                }
                return Ok(());
            }
            Action::Call(call) => return self.call(event, call),
            Action::Foreign(text) => {
                return Err(Stop::unsupported(format!(
                    "packets of other protocols are not known here: {text}"
                )));
            }
            Action::Icmp(message) if message.direction == Direction::Out => {
                return Err(Stop::unsupported("messages of the system itself are not looked at"));
            }
            Action::Packet(_) | Action::Icmp(_) => Kind::Injection,
            Action::Command(_) | Action::Code(_) => Kind::Other,
        };
        let due = self.advance_to_event(event, kind)?;
        match &event.action {
            Action::Packet(packet) => self.inject(packet)?,
            Action::Icmp(message) => self.inject_message(message)?,
            Action::Command(text) => self.system.command(text)?,
            Action::Code(text) => self.code(text)?,
            Action::Call(_) | Action::Foreign(_) => {}
        }
        self.note(event, due, self.system.now(), kind, Vec::new());
        if kind == Kind::Injection { self.retry_blocking_call() } else { Ok(()) }
    }

    fn advance_to_event(&mut self, event: &Event, kind: Kind) -> Step<Option<Due>> {
        let due = self.timeline.due(event.time, kind, &self.settings);
        if let Some(due) = due {
            self.advance_until(due.earliest)?;
        }
        Ok(due)
    }

    /// Advances time to `limit`, including events at that instant.
    fn advance_until(&mut self, limit: Instant) -> Step<()> {
        while self.advance(limit)? == Advance::Happened {}
        Ok(())
    }

    /// Advances time to the next event, or to `limit`.
    fn advance(&mut self, limit: Instant) -> Step<Advance> {
        let passed = self.system.pass(limit)?;
        self.retry_blocking_call()?;
        Ok(passed)
    }

    fn call(&mut self, event: &'a Event, call: &'a Call) -> Step<()> {
        let due = self.advance_to_event(event, Kind::Other)?;
        self.finish_blocking_call()?;
        let end = call.end.map(|end| self.timeline.due_end(event.time, end, &self.settings));
        let end = end.map(|end| end.with_lag(self.system.lag()));
        match (self.system.call(call)?, end) {
            (Progress::Returned(returned), end) => {
                self.note(event, due, self.system.now(), Kind::Other, Vec::new());
                if let Some(end) = end {
                    self.timeline.verify(end, returned.at)?;
                }
                verify_return(call, &returned)
            }
            (Progress::Waits, Some(due_end)) => {
                self.note(event, due, self.system.now(), Kind::Other, Vec::new());
                self.waiting = Some(Waiting { event, call, due: due_end, broken: false });
                Ok(())
            }
            (Progress::Waits, None) => Err(Stop::failed(
                "the call waits; write when it returns (`start...end`) if it should",
            )),
        }
    }

    /// Waits for the blocking call to return before the next one, because there is one application.
    fn finish_blocking_call(&mut self) -> Step<()> {
        while let Some(waiting) = &self.waiting {
            let message = format!(
                "the call of line {} has not returned yet: {}",
                waiting.event.line, waiting.call
            );
            let limit = waiting.due.limit();
            if self.advance(limit)? == Advance::Settled && self.waiting.is_some() {
                return Err(Stop::failed(message));
            }
        }
        Ok(())
    }

    /// Retries the blocking call, and verifies its result once it returns.
    fn retry_blocking_call(&mut self) -> Step<()> {
        let Some(waiting) = self.waiting.take() else { return Ok(()) };
        let judged = match self.system.waiting_call() {
            Ok(Progress::Waits) => {
                self.waiting = Some(waiting);
                return Ok(());
            }
            Ok(Progress::Returned(returned)) => self
                .timeline
                .verify(waiting.due, returned.at)
                .and_then(|()| verify_return(waiting.call, &returned)),
            Err(stop) => Err(stop),
        };
        if judged.is_err() {
            self.waiting = Some(Waiting { broken: true, ..waiting });
        }
        judged
    }

    fn code(&mut self, text: &str) -> Step<()> {
        tcp_info::define_variables(&self.system.information()?, &mut self.environment);
        match code::run(text, &mut self.environment) {
            // Code beyond the supported subset needs Python.
            Err(Stop::Unsupported(reason)) => self
                .system
                .code(&self.environment.python(), text)
                .unwrap_or(Err(Stop::Unsupported(reason))),
            done => done,
        }
    }

    /// After the last event: the blocking call must return, and no packet may be left.
    fn finish(&mut self) -> Result<(), LineFailure> {
        while let Some(waiting) = &self.waiting {
            let (event, limit) = (waiting.event, waiting.due.limit());
            let passed = self.advance(limit);
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
                let packet = without_defaults(translation.to_script(&sent.packet)).to_string();
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

    fn note(
        &mut self,
        event: &Event,
        due: Option<Due>,
        at: Instant,
        kind: Kind,
        seen: Vec<String>,
    ) {
        self.timeline.note(due, at, kind);
        self.dialogue.push(Exchange {
            line: Some(event.line),
            expected: event.to_string(),
            at: self.timeline.elapsed(at),
            seen,
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

impl Runner<'_> {
    fn inject(&mut self, packet: &Packet) -> Step<()> {
        let connection = self.system.connection_for(packet)?;
        self.collect_sent();
        let translation = self.translations.entry(connection).or_default();
        translation.on_injected(packet);
        let live = translation.to_live(packet);
        self.system.inject(connection, &live)
    }

    fn inject_message(&mut self, message: &Icmp) -> Step<()> {
        let connection = self.system.connection_for_message()?;
        self.collect_sent();
        let live = self.translations.entry(connection).or_default().message_to_live(message);
        self.system.inject_message(connection, &live)
    }

    /// Collects sent packets, so that initial numbers are known even if no packet is expected
    /// first.
    fn collect_sent(&mut self) {
        while let Some(sent) = self.system.take_sent() {
            self.translations.entry(sent.connection).or_default().on_sent(&sent.packet);
            self.sent.push_back(sent);
        }
    }

    /// Waits for an expected packet and verifies it.
    fn expect(&mut self, expected: &Packet, time: EventTime) -> Step<MatchedPacket> {
        let due = self.timeline.due(time, Kind::Other, &self.settings);
        let due = due.map(|due| due.with_lag(self.system.lag()));
        let limit = due.map_or(self.system.now() + MAX_WAIT, |due| due.limit());
        let mut met: Option<MatchedPacket> = None;
        let mut payloads: Vec<u32> = Vec::new();
        loop {
            let matched_bytes = payloads.iter().sum();
            let Some(sent) = self.next_sent(limit)? else {
                return Err(self.missing(met.as_ref(), due));
            };
            let seen = self.verify_segment(expected, matched_bytes, &sent, due)?;
            payloads.push(sent.packet.payload_bytes);
            let met =
                met.get_or_insert_with(|| MatchedPacket { due, at: sent.at, seen: Vec::new() });
            met.seen.push(seen);
            if matched_bytes + sent.packet.payload_bytes >= expected.payload_bytes {
                break;
            }
        }
        if self.settings.strictness == Strictness::Strict && !verify::is_segmented_evenly(&payloads)
        {
            return Err(Stop::failed(format!(
                "the payload is not divided as segmentation divides it: {payloads:?} bytes"
            )));
        }
        met.ok_or_else(|| Stop::failed("no packet came"))
    }

    /// Verifies one segment of the expected packet, at offset `met_bytes`.
    fn verify_segment(
        &mut self,
        expected: &Packet,
        matched_bytes: u32,
        sent: &Sent,
        due: Option<Due>,
    ) -> Step<String> {
        let translation = self.translations.entry(sent.connection).or_default();
        translation.learn(expected, &sent.packet);
        let seen = translation.to_script(&sent.packet);
        let left = expected.payload_bytes - matched_bytes;
        let divides = self.may_be_divided(sent.packet.payload_bytes, left);
        let payload = if divides { sent.packet.payload_bytes } else { left };
        let rule = self.settings.strictness;
        let wanted = verify::piece(expected, matched_bytes, payload, &seen, rule);
        if let Some(difference) = verify::difference(&wanted, &seen, &self.settings) {
            return Err(with_packet(Stop::failed(difference), seen));
        }
        match due.map(|due| self.timeline.verify(due, sent.at)) {
            Some(Err(stop)) => Err(with_packet(stop, seen)),
            _ => Ok(without_defaults(seen).to_string()),
        }
    }

    /// Whether an expected packet with `left` remaining bytes may continue with a segment of
    /// `payload` bytes.
    fn may_be_divided(&self, payload: u32, left: u32) -> bool {
        !self.settings.strict_segments && (1..left).contains(&payload)
    }

    /// The next packet sent, if one is by `limit`.
    fn next_sent(&mut self, limit: Instant) -> Step<Option<Sent>> {
        loop {
            self.collect_sent();
            if let Some(sent) = self.pop_sent() {
                return Ok(Some(sent));
            }
            if self.advance(limit)? == Advance::Settled {
                self.collect_sent();
                return Ok(self.pop_sent());
            }
        }
    }

    /// The next sent packet to verify: one of the connection under test, if there is one.
    fn pop_sent(&mut self) -> Option<Sent> {
        if let (Strictness::Tool, Some(under_test)) =
            (self.settings.strictness, self.system.under_test())
        {
            self.sent.retain(|sent| sent.connection == under_test);
        }
        self.sent.pop_front()
    }

    fn missing(&self, met: Option<&MatchedPacket>, due: Option<Due>) -> Stop {
        let until = due.map_or(self.system.now(), |due| due.limit());
        let until = decimal(self.timeline.elapsed(until));
        Stop::failed(match met {
            Some(met) => format!("only a part came until {until} s\n{}", met.seen.join("\n")),
            None => format!("no packet came until {until} s"),
        })
    }
}

fn with_packet(stop: Stop, seen: Packet) -> Stop {
    match stop {
        Stop::Failed(message) => Stop::failed(format!("{message}\n{}", without_defaults(seen))),
        other @ Stop::Unsupported(_) => other,
    }
}

pub(super) fn verify_return(call: &Call, returned: &Returned) -> Step<()> {
    let value_met = match &call.result {
        Expression::Any => true,
        expression => expression.number()? == returned.value,
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
