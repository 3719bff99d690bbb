//! `poll` and `epoll`.

use super::{CallProgress, Other, Role, SUCCESS, Sockets, fails, returns};
use crate::outcome::{Step, Stop};
use crate::run::host::{Endpoint, Host};
use crate::run::verify::verify_epoll_events;
use crate::script::constants::{
    EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLLET, EPOLLONESHOT, POLLERR, POLLHUP, POLLIN, POLLOUT,
    POLLRDHUP, POLLRDNORM, POLLWRNORM,
};
use crate::script::{Call, Expression};
use fairwind_tcp::State;
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

const POLL_READ: i64 = POLLIN | POLLRDNORM;
const POLL_WRITE: i64 = POLLOUT | POLLWRNORM;
/// Reported even if not requested.
const ALWAYS: i64 = POLLERR | POLLHUP;

/// `poll`: watched descriptors and timeout.
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
    /// The scripted result, if any.
    expected: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
struct PollTimeout {
    /// `None` is for ever.
    limit: Option<Span>,
    /// Deadline, once the call has begun.
    until: Option<Instant>,
}

impl PollTimeout {
    /// Milliseconds; a negative number means no timeout.
    fn of(expression: &Expression) -> Step<Self> {
        let limit = u64::try_from(expression.number()?).ok().map(Span::from_millis);
        Ok(Self { limit, until: None })
    }

    fn until(&mut self, now: Instant) -> Instant {
        *self.until.get_or_insert_with(|| self.limit.map_or(Instant::MAX, |limit| now + limit))
    }
}

impl Poll {
    /// `poll([{fd=4, events=POLLIN, revents=0}], 1, 10)`
    pub(super) fn of(call: &Call) -> Step<Self> {
        let watched = call.argument(0)?.members()?.iter().map(|entry| {
            let revents = entry.field("revents").and_then(Expression::given);
            let expected = revents.map(Expression::number).transpose()?;
            Ok(PollEntry {
                descriptor: entry.required_field("fd")?.number()?,
                events: entry.required_field("events")?.number()?,
                expected,
            })
        });
        let watched = watched.collect::<Step<Vec<_>>>()?;
        Ok(Self { watched, patience: PollTimeout::of(call.argument(2)?)? })
    }
}

/// An `epoll` descriptor: its watched descriptors, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Epoll {
    interests: BTreeMap<i64, Interest>,
}

#[derive(Debug, Clone, Copy)]
struct Interest {
    events: i64,
    /// `epoll_data` of the application.
    content: i64,
    /// Event count at the last report.
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
    pub(super) fn of(call: &Call) -> Step<Self> {
        let (events, content) = match call.argument(3)? {
            Expression::Any => (0, 0),
            record => record.epoll_event()?,
        };
        Ok(Self {
            watcher: call.number(0)?,
            operation: call.number(1)?,
            descriptor: call.number(2)?,
            events,
            content,
        })
    }
}

/// `epoll_wait`
#[derive(Debug, Clone)]
pub(crate) struct EpollWait {
    watcher: i64,
    /// The scripted events, if any.
    expected: Option<Vec<(i64, i64)>>,
    max: usize,
    patience: PollTimeout,
}

impl EpollWait {
    /// `epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0)`
    pub(super) fn of(call: &Call) -> Step<Self> {
        Ok(Self {
            expected: call.argument(1)?.epoll_events()?,
            watcher: call.number(0)?,
            max: usize::try_from(call.number(2)?).unwrap_or(0),
            patience: PollTimeout::of(call.argument(3)?)?,
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
        Ok(returns(ready))
    }

    fn watcher(&mut self, descriptor: i64) -> Option<&mut Epoll> {
        match self.others.get_mut(&descriptor) {
            Some(Other::Epoll(watcher)) => Some(watcher),
            _ => None,
        }
    }

    pub(super) fn watch(&mut self, watch: &EpollCtl) -> Step<CallProgress> {
        self.get(watch.descriptor)?;
        let Some(watcher) = self.watcher(watch.watcher) else { return Ok(fails("EINVAL")) };
        let interest = Interest { events: watch.events, content: watch.content, reported: None };
        let known = watcher.interests.contains_key(&watch.descriptor);
        match (watch.operation, known) {
            (EPOLL_CTL_ADD, true) => return Ok(fails("EEXIST")),
            (EPOLL_CTL_ADD, false) => watcher.interests.insert(watch.descriptor, interest),
            (_, false) => return Ok(fails("ENOENT")),
            (EPOLL_CTL_DEL, true) => watcher.interests.remove(&watch.descriptor),
            (_, true) => watcher.interests.insert(watch.descriptor, interest),
        };
        Ok(SUCCESS)
    }

    pub(super) fn await_events(&mut self, wait: &mut EpollWait, host: &Host) -> Step<CallProgress> {
        if wait.max == 0 {
            return Ok(fails("EINVAL"));
        }
        let Some(watcher) = self.watcher(wait.watcher) else { return Ok(fails("EINVAL")) };
        let interests = watcher.interests.clone();
        let mut seen = Vec::new();
        for (descriptor, mut interest) in interests {
            // A reported one-shot descriptor is silent until it is armed again.
            if interest.events == EPOLLONESHOT {
                continue;
            }
            let ready = self.readiness(descriptor, host)? & (interest.events | ALWAYS);
            let wakeups = self.wakeups(descriptor, host)?;
            let is_news = interest.events & EPOLLET == 0 || interest.reported != Some(wakeups);
            if ready == 0 || !is_news || seen.len() == wait.max {
                continue;
            }
            seen.push((ready, interest.content));
            interest.reported = Some(wakeups);
            if interest.events & EPOLLONESHOT != 0 {
                interest.events = EPOLLONESHOT;
            }
            if let Some(watcher) = self.watcher(wait.watcher) {
                watcher.interests.insert(descriptor, interest);
            }
        }
        let until = wait.patience.until(host.now);
        if seen.is_empty() && host.now < until {
            return Ok(CallProgress::Waits { until });
        }
        verify_epoll_events(wait.expected.as_deref(), &seen)?;
        let count = i64::try_from(seen.len()).unwrap_or(i64::MAX);
        Ok(returns(count))
    }

    fn wakeups(&mut self, descriptor: i64, host: &Host) -> Step<u64> {
        Ok(match self.get(descriptor)?.role {
            Role::Fresh => 0,
            Role::Listening => host.endpoints.iter().map(|endpoint| endpoint.wakeups).sum(),
            Role::Connected { endpoint, .. } => {
                let endpoint = &host.endpoints[endpoint];
                endpoint.wakeups + endpoint.errors.reported()
            }
        })
    }

    /// Events that `poll` may report for a descriptor now.
    fn readiness(&mut self, descriptor: i64, host: &Host) -> Step<i64> {
        let socket = self.get(descriptor)?;
        Ok(match socket.role {
            Role::Fresh if socket.fast_open.deferred => POLL_WRITE,
            Role::Fresh => POLL_WRITE | POLLHUP,
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

/// As Linux' `tcp_poll`.
fn connection_readiness(endpoint: &Endpoint, deaf: bool, low_water: u32) -> i64 {
    let state = endpoint.connection.state();
    let opening =
        state == State::SynSent || state == State::SynReceived && !endpoint.connection.is_early();
    let closing = !opening && !matches!(state, State::Established | State::CloseWait);
    let no_more_input = endpoint.peer_finished || deaf || state == State::Closed;
    let mut ready = 0;
    if no_more_input {
        ready |= POLL_READ | POLLRDHUP;
    }
    if closing && no_more_input {
        ready |= POLLHUP;
    }
    if !opening && endpoint.connection.readable_bytes() >= low_water.max(1) {
        ready |= POLL_READ;
    }
    if closing || !opening && endpoint.is_writable() {
        ready |= POLL_WRITE;
    }
    if endpoint.error.is_some() || !endpoint.errors.is_empty() {
        ready |= POLLERR;
    }
    ready
}
