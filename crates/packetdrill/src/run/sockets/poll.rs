//! `poll` and `epoll`.

use super::arguments::{Arguments, field};
use super::constants::{POLL_ERROR, POLL_HANG_UP, POLL_PEER_HANG_UP, POLL_READ, POLL_WRITE, value};

use super::{CallProgress, Other, Returned, Role, SUCCESS, Sockets, fails};
use crate::outcome::{Step, Stop};
use crate::run::host::{Endpoint, Host};
use crate::script::Expression;
use fairwind_tcp::State;
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

/// `EPOLLET`: reported once per change.
const EDGE_TRIGGERED: i64 = 1 << 31;
/// `EPOLLONESHOT`: reported once.
const ONE_SHOT: i64 = 1 << 30;
/// Reported even if not requested.
const ALWAYS: i64 = POLL_ERROR | POLL_HANG_UP;

/// `poll`: what is watched, and how long.
#[derive(Debug, Clone)]
pub(crate) struct Poll {
    watched: Vec<PollEntry>,
    patience: PollTimeout,
}

/// One entry of `poll`.
#[derive(Debug, Clone, Copy)]
struct PollEntry {
    descriptor: i64,
    events: i64,
    /// What the script expects to be returned, where it says so.
    expected: Option<i64>,
}

/// How long a call waits at most.
#[derive(Debug, Clone, Copy)]
struct PollTimeout {
    /// `None` is for ever.
    limit: Option<Span>,
    /// When it runs out, once the call has begun.
    until: Option<Instant>,
}

impl PollTimeout {
    /// Milliseconds; less than none is for ever.
    fn of(expression: &Expression) -> Step<Self> {
        let limit = u64::try_from(value(expression)?).ok().map(Span::from_millis);
        Ok(Self { limit, until: None })
    }

    fn until(&mut self, now: Instant) -> Instant {
        *self.until.get_or_insert_with(|| self.limit.map_or(Instant::MAX, |limit| now + limit))
    }
}

/// A list of records, or one record alone.
fn records(expression: &Expression) -> Step<&[Expression]> {
    match expression {
        Expression::List(entries) => Ok(entries),
        Expression::Record(_) => Ok(std::slice::from_ref(expression)),
        other => Err(Stop::failed(format!("`{other}` is no list of records"))),
    }
}

fn number(record: &Expression, name: &str) -> Step<i64> {
    match field(record, name) {
        Some(expression) => value(expression),
        None => Err(Stop::failed(format!("`{record}` has no field {name}"))),
    }
}

impl Poll {
    /// `poll([{fd=4, events=POLLIN, revents=0}], 1, 10)`
    pub(super) fn of(given: Arguments<'_>) -> Step<Self> {
        let watched = records(given.get(0)?)?.iter().map(|entry| {
            let expected = match field(entry, "revents") {
                None | Some(Expression::Any) => None,
                Some(expression) => Some(value(expression)?),
            };
            Ok(PollEntry {
                descriptor: number(entry, "fd")?,
                events: number(entry, "events")?,
                expected,
            })
        });
        let watched = watched.collect::<Step<Vec<_>>>()?;
        Ok(Self { watched, patience: PollTimeout::of(given.get(2)?)? })
    }
}

/// An `epoll` descriptor: what it watches, in the order of descriptors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Epoll {
    interests: BTreeMap<i64, Interest>,
}

#[derive(Debug, Clone, Copy)]
struct Interest {
    events: i64,
    /// `epoll_data` of the application.
    content: i64,
    /// Count of events at the last report.
    reported: Option<u64>,
}

/// `epoll_ctl`
#[derive(Debug, Clone)]
pub(crate) struct EpollCtl {
    watcher: i64,
    operation: i64,
    descriptor: i64,
    events: i64,
    content: i64,
}

impl EpollCtl {
    pub(super) fn of(given: Arguments<'_>) -> Step<Self> {
        let (events, content) = match given.get(3)? {
            Expression::Any => (0, 0),
            record => event(record)?,
        };
        Ok(Self {
            watcher: given.number(0)?,
            operation: given.number(1)?,
            descriptor: given.number(2)?,
            events,
            content,
        })
    }
}

/// `struct epoll_event`: events and data.
fn event(record: &Expression) -> Step<(i64, i64)> {
    let content = ["fd", "u32", "u64", "ptr"].iter().find_map(|name| field(record, name));
    Ok((number(record, "events")?, content.map_or(Ok(0), value)?))
}

/// `epoll_wait`
#[derive(Debug, Clone)]
pub(crate) struct EpollWait {
    watcher: i64,
    /// What the script expects, where it says so.
    expected: Option<Vec<(i64, i64)>>,
    most: usize,
    patience: PollTimeout,
}

impl EpollWait {
    /// `epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0)`
    pub(super) fn of(given: Arguments<'_>) -> Step<Self> {
        let expected = match given.get(1)? {
            Expression::Any => None,
            entries => Some(records(entries)?.iter().map(event).collect::<Step<Vec<_>>>()?),
        };
        Ok(Self {
            watcher: given.number(0)?,
            expected,
            most: usize::try_from(given.number(2)?).unwrap_or(0),
            patience: PollTimeout::of(given.get(3)?)?,
        })
    }
}

impl Sockets {
    pub(super) fn poll(&mut self, poll: &mut Poll, host: &mut Host) -> Step<CallProgress> {
        let mut ready = 0;
        let mut found = Vec::new();
        for watched in &poll.watched {
            let returned = self.readiness(watched.descriptor, host)? & (watched.events | ALWAYS);
            ready += i64::from(returned != 0);
            found.push((watched, returned));
        }
        let until = poll.patience.until(host.now);
        if ready == 0 && host.now < until {
            return Ok(CallProgress::Waits { until });
        }
        for (watched, returned) in found {
            if watched.expected.is_some_and(|expected| expected != returned) {
                return Err(Stop::failed(format!(
                    "revents of descriptor {}: expected {:#x}, seen {returned:#x}",
                    watched.descriptor,
                    watched.expected.unwrap_or(0)
                )));
            }
        }
        Ok(CallProgress::Returns(Returned::value(ready)))
    }

    fn watcher(&mut self, descriptor: i64) -> Option<&mut Epoll> {
        match self.others.get_mut(&descriptor) {
            Some(Other::Epoll(watcher)) => Some(watcher),
            _ => None,
        }
    }

    pub(super) fn watch(&mut self, watch: &EpollCtl) -> Step<CallProgress> {
        const ADD: i64 = 1;
        const DELETE: i64 = 2;
        self.get(watch.descriptor)?;
        let Some(watcher) = self.watcher(watch.watcher) else { return Ok(fails("EINVAL")) };
        let interest = Interest { events: watch.events, content: watch.content, reported: None };
        let known = watcher.interests.contains_key(&watch.descriptor);
        match (watch.operation, known) {
            (ADD, true) => return Ok(fails("EEXIST")),
            (ADD, false) => watcher.interests.insert(watch.descriptor, interest),
            (_, false) => return Ok(fails("ENOENT")),
            (DELETE, true) => watcher.interests.remove(&watch.descriptor),
            (_, true) => watcher.interests.insert(watch.descriptor, interest),
        };
        Ok(SUCCESS)
    }

    pub(super) fn await_events(&mut self, wait: &mut EpollWait, host: &Host) -> Step<CallProgress> {
        if wait.most == 0 {
            return Ok(fails("EINVAL"));
        }
        let Some(watcher) = self.watcher(wait.watcher) else { return Ok(fails("EINVAL")) };
        let interests = watcher.interests.clone();
        let mut seen = Vec::new();
        for (descriptor, mut interest) in interests {
            // Told once and not armed anew, it is silent altogether.
            if interest.events == ONE_SHOT {
                continue;
            }
            let ready = self.readiness(descriptor, host)? & (interest.events | ALWAYS);
            let happened = self.happened(descriptor, host)?;
            let is_news =
                interest.events & EDGE_TRIGGERED == 0 || interest.reported != Some(happened);
            if ready == 0 || !is_news || seen.len() == wait.most {
                continue;
            }
            seen.push((ready, interest.content));
            interest.reported = Some(happened);
            if interest.events & ONE_SHOT != 0 {
                interest.events = ONE_SHOT;
            }
            if let Some(watcher) = self.watcher(wait.watcher) {
                watcher.interests.insert(descriptor, interest);
            }
        }
        let until = wait.patience.until(host.now);
        if seen.is_empty() && host.now < until {
            return Ok(CallProgress::Waits { until });
        }
        judge_events(wait.expected.as_deref(), &seen)?;
        let count = i64::try_from(seen.len()).unwrap_or(i64::MAX);
        Ok(CallProgress::Returns(Returned::value(count)))
    }

    /// How often anything has happened that wakes who waits.
    fn happened(&mut self, descriptor: i64, host: &Host) -> Step<u64> {
        Ok(match self.get(descriptor)?.role {
            Role::Fresh => 0,
            Role::Listening => host.endpoints.iter().map(|endpoint| endpoint.happened).sum(),
            Role::Connected { endpoint, .. } => {
                let endpoint = &host.endpoints[endpoint];
                endpoint.happened + endpoint.errors.reported()
            }
        })
    }

    /// What `poll` may report of a descriptor at present.
    fn readiness(&mut self, descriptor: i64, host: &Host) -> Step<i64> {
        let socket = self.get(descriptor)?;
        Ok(match socket.role {
            Role::Fresh if socket.fast_open.deferred => POLL_WRITE,
            Role::Fresh => POLL_WRITE | POLL_HANG_UP,
            Role::Listening => {
                let waiting = host.endpoints.iter().any(|endpoint| {
                    endpoint.awaits_acceptance_of == Some(descriptor) && endpoint.established
                });
                if waiting { POLL_READ } else { 0 }
            }
            Role::Connected { endpoint, .. } => {
                connection_readiness(&host.endpoints[endpoint], socket.deaf, socket.low_water)
            }
        })
    }
}

fn judge_events(expected: Option<&[(i64, i64)]>, seen: &[(i64, i64)]) -> Step<()> {
    for (one, (events, content)) in expected.unwrap_or_default().iter().zip(seen) {
        if *one != (*events, *content) {
            return Err(Stop::failed(format!(
                "the event: expected {:#x} of {}, seen {events:#x} of {content}",
                one.0, one.1
            )));
        }
    }
    Ok(())
}

/// As Linux' `tcp_poll`.
fn connection_readiness(endpoint: &Endpoint, deaf: bool, low_water: u32) -> i64 {
    let state = endpoint.connection.state();
    let opening =
        state == State::SynSent || state == State::SynReceived && !endpoint.connection.is_early();
    let closing = !opening && !matches!(state, State::Established | State::CloseWait);
    let no_more_input = endpoint.peer_finished || deaf || state == State::Closed;
    let mut ready = 0;
    if no_more_input {
        ready |= POLL_READ | POLL_PEER_HANG_UP;
    }
    if closing && no_more_input {
        ready |= POLL_HANG_UP;
    }
    if !opening && endpoint.connection.readable_bytes() >= low_water.max(1) {
        ready |= POLL_READ;
    }
    if closing || !opening && endpoint.is_writable() {
        ready |= POLL_WRITE;
    }
    if endpoint.error.is_some() || !endpoint.errors.is_empty() {
        ready |= POLL_ERROR;
    }
    ready
}
