//! Following a script, event by event.

use super::commands;
use super::host::Host;
use super::packets::{self, Met};
use super::settings::Settings;
use super::sockets::{Attempt, Request, Returned, Sockets};
use super::timeline::{Due, Kind, Timeline};
use super::{RunOptions, TrailingPackets, told};
use crate::code::{self, Environment};
use crate::outcome::{Exchange, Failure, Outcome, Step, Stop, Unsupported};
use crate::script::{Action, Call, Direction, Event, Expression, Script};
use fairwind_units::Instant;

/// When scripts begin: late enough that nothing in an endpoint is at its own beginning of time.
const BEGINNING: Instant = Instant::from_secs(100);

/// A call that waits.
struct Waiting<'a> {
    event: &'a Event,
    call: &'a Call,
    request: Request,
    until: Instant,
    due: Due,
    /// It has returned otherwise than it should.
    broken: bool,
}

/// What went wrong, and in which line.
struct Broken {
    line: Option<u32>,
    stop: Stop,
}

/// The state of one run.
pub(super) struct Runner<'a> {
    pub(super) options: &'a RunOptions,
    pub(super) settings: Settings,
    pub(super) host: Host,
    pub(super) sockets: Sockets,
    pub(super) timeline: Timeline,
    environment: Environment,
    waiting: Option<Waiting<'a>>,
    dialogue: Vec<Exchange>,
}

impl<'a> Runner<'a> {
    pub(super) fn run(script: &'a Script, options: &'a RunOptions) -> Outcome {
        let settings = match Settings::new(&script.options) {
            Ok(settings) => settings,
            Err((line, stop)) => return outcome(script, Some(line), stop, Vec::new()),
        };
        let config = settings.adapt(options.profile.config());
        let mut runner = Self {
            options,
            host: Host::new(BEGINNING, options.initial_sequence),
            sockets: Sockets::new(config, options.profile),
            timeline: Timeline::new(BEGINNING),
            settings,
            environment: Environment::default(),
            waiting: None,
            dialogue: Vec::new(),
        };
        match runner.follow(script) {
            Ok(()) => Outcome::Passed,
            Err(Broken { line, stop }) => outcome(script, line, stop, runner.dialogue),
        }
    }

    fn follow(&mut self, script: &'a Script) -> Result<(), Broken> {
        if let Some(command) = &script.preparation {
            let done = self.command(&command.text);
            done.map_err(|stop| Broken { line: Some(command.line), stop })?;
        }
        for event in &script.events {
            if let Err(stop) = self.event(event) {
                // A waiting call that went wrong has its own line.
                let line = self.line_of_failure(event);
                self.note_failure(event, line, &stop);
                return Err(Broken { line: Some(line), stop });
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
                self.note_met(event, met);
                Ok(())
            }
            Action::Packet(packet) => {
                let due = self.wait_for(event, Kind::Injection)?;
                self.inject(packet)?;
                self.note(event, due, Kind::Injection);
                self.try_waiting()
            }
            Action::Icmp(_) => Err(Stop::unsupported("the endpoint does not know ICMP")),
            Action::Call(call) => self.call(event, call),
            Action::Command(text) => {
                let due = self.wait_for(event, Kind::Other)?;
                self.command(text)?;
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

    pub(super) fn pass_until(&mut self, limit: Instant) -> Step<()> {
        while self.host.now < limit {
            self.pass_some(limit)?;
        }
        // What is due at the very instant comes before the event.
        while self.host.next_deadline() <= limit {
            self.pass_some(limit)?;
        }
        Ok(())
    }

    /// Lets time pass until something happens, or to `limit`.
    pub(super) fn pass_some(&mut self, limit: Instant) -> Step<()> {
        let until = self.waiting.as_ref().map_or(Instant::MAX, |waiting| waiting.until);
        self.host.step(limit.min(until.max(self.host.now)));
        self.try_waiting()
    }

    fn call(&mut self, event: &'a Event, call: &'a Call) -> Step<()> {
        let due = self.wait_for(event, Kind::Other)?;
        if let Some(waiting) = &self.waiting {
            return Err(Stop::failed(format!(
                "the call of line {} has not returned yet: {}",
                waiting.event.line, waiting.call
            )));
        }
        let mut request = Request::of(call)?;
        let attempt = self.sockets.attempt(&mut request, &mut self.host)?;
        let end = call.end.map(|end| self.timeline.due_end(event.time, end, &self.settings));
        match (attempt, end) {
            (Attempt::Returns(returned), end) => {
                self.note(event, due, Kind::Other);
                if let Some(end) = end {
                    self.timeline.judge(end, self.host.now)?;
                }
                judge_return(call, returned)
            }
            (Attempt::Waits { until }, Some(due_end)) => {
                self.note(event, due, Kind::Other);
                self.waiting =
                    Some(Waiting { event, call, request, until, due: due_end, broken: false });
                Ok(())
            }
            (Attempt::Waits { .. }, None) => Err(Stop::failed(
                "the call waits; write when it returns (`start...end`) if it should",
            )),
        }
    }

    /// Tries the waiting call again, and judges it where it returns.
    pub(super) fn try_waiting(&mut self) -> Step<()> {
        let Some(mut waiting) = self.waiting.take() else { return Ok(()) };
        let judged = match self.sockets.attempt(&mut waiting.request, &mut self.host) {
            Ok(Attempt::Waits { until }) => {
                self.waiting = Some(Waiting { until, ..waiting });
                return Ok(());
            }
            Ok(Attempt::Returns(returned)) => self
                .timeline
                .judge(waiting.due, self.host.now)
                .and_then(|()| judge_return(waiting.call, returned)),
            Err(stop) => Err(stop),
        };
        if judged.is_err() {
            self.waiting = Some(Waiting { broken: true, ..waiting });
        }
        judged
    }

    fn command(&mut self, text: &str) -> Step<()> {
        let (profile, settings) = (self.options.profile, &self.settings);
        let changed =
            self.sockets.reconfigure(|config| commands::apply(text, config, profile, settings))?;
        let open = self.host.endpoints.iter().any(|endpoint| !endpoint.is_closed());
        if changed && open {
            return Err(Stop::unsupported(
                "a command cannot change the behaviour of a connection that has begun",
            ));
        }
        Ok(())
    }

    fn code(&mut self, text: &str) -> Step<()> {
        match self.host.current {
            Some(index) => told::tell(&self.host.endpoints[index], &mut self.environment),
            None => self.environment.forget("tcpi_"),
        }
        code::run(text, &mut self.environment)
    }

    /// After the last event: the waiting call must return, and nothing be left over.
    fn finish(&mut self) -> Result<(), Broken> {
        while let Some(waiting) = &self.waiting {
            let (event, limit) = (waiting.event, waiting.due.limit());
            let line = Some(event.line);
            if self.host.now >= limit {
                let stop = Stop::failed("the call has not returned in time");
                self.note_failure(event, event.line, &stop);
                return Err(Broken { line, stop });
            }
            if let Err(stop) = self.pass_some(limit) {
                self.note_failure(event, event.line, &stop);
                return Err(Broken { line, stop });
            }
        }
        match self.host.sent.front().copied() {
            Some(sent) if self.options.trailing == TrailingPackets::Refused => {
                let translation = &self.host.endpoints[sent.endpoint].translation;
                let packet = packets::shown(translation.to_script(&sent.segment));
                self.dialogue.push(Exchange {
                    line: None,
                    expected: "(nothing more)".to_owned(),
                    at: self.timeline.elapsed(sent.at),
                    seen: vec![packet.clone()],
                });
                let stop = Stop::failed(format!("a packet that nobody expected: {packet}"));
                Err(Broken { line: None, stop })
            }
            _ => Ok(()),
        }
    }

    fn note(&mut self, event: &Event, due: Option<Due>, kind: Kind) {
        let now = self.host.now;
        self.timeline.note(due, now, kind);
        self.dialogue.push(Exchange {
            line: Some(event.line),
            expected: event.to_string(),
            at: self.timeline.elapsed(now),
            seen: Vec::new(),
        });
    }

    fn note_met(&mut self, event: &Event, met: Met) {
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
            at: self.timeline.elapsed(self.host.now),
            seen: message
                .lines()
                .skip(1)
                .chain(message.lines().take(1))
                .map(str::to_owned)
                .collect(),
        });
    }
}

fn judge_return(call: &Call, returned: Returned) -> Step<()> {
    let value_met = match &call.result {
        Expression::Any => true,
        expression => super::sockets::value(expression)? == returned.value,
    };
    let error_met = match (&call.error, &call.result) {
        (Some(expected), _) => returned.error == Some(expected.as_str()),
        (None, Expression::Any) => true,
        // A failure without its name leaves open which it is.
        (None, _) => returned.error.is_none() || returned.value == -1 && value_met,
    };
    if value_met && error_met {
        return Ok(());
    }
    let error = returned.error.map_or_else(String::new, |error| format!(" {error}"));
    Err(Stop::failed(format!(
        "the result: expected {}{}, seen {}{error}",
        call.result,
        call.error.as_ref().map_or_else(String::new, |error| format!(" {error}")),
        returned.value
    )))
}

fn outcome(script: &Script, line: Option<u32>, stop: Stop, dialogue: Vec<Exchange>) -> Outcome {
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
