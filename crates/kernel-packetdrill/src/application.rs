//! The thread that makes the calls of a script, and calls that wait: `poll` and `epoll`.
//!
//! Calls are made apart from where packets are read and injected, so that one that waits does not
//! stop the script.

use super::call::{Descriptors, Job, Made, Prepared};
use fairwind_linux as linux;
use fairwind_packetdrill::{Call, Expression, Step, Stop, verify_epoll_events};
use fairwind_units::Span;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

/// A call that does not return within this time waits.
const PATIENCE: Span = Span::from_millis(100);
/// How often a call that may wait is looked after, until it sleeps in the kernel.
const GLANCE: Span = Span::from_micros(20);

/// The thread, and what goes to and comes from it.
#[derive(Debug)]
pub(super) struct Application {
    jobs: Option<Sender<Job>>,
    made: Receiver<Made>,
    thread: Option<JoinHandle<()>>,
    thread_id: i32,
    busy: bool,
}

impl Application {
    /// Starts the thread, in the namespace of the calling one.
    pub(super) fn start() -> Step<Self> {
        let (jobs, to_do) = channel::<Job>();
        let (done, made) = channel();
        let (introduce, introduced) = channel();
        let thread = std::thread::spawn(move || {
            linux::prefer();
            // Whoever listens knows that it is there, or has gone: nothing to do about it.
            let _ = introduce.send(linux::thread_id());
            while let Ok(job) = to_do.recv() {
                if done.send(job()).is_err() {
                    break;
                }
            }
        });
        let thread_id =
            introduced.recv().map_err(|_| Stop::failed("the application did not start"))?;
        Ok(Self { jobs: Some(jobs), made, thread: Some(thread), thread_id, busy: false })
    }

    /// Whether a call is waiting.
    pub(super) const fn is_busy(&self) -> bool {
        self.busy
    }

    /// Makes a call and returns its result, if it does not wait.
    pub(super) fn make(&mut self, job: Job) -> Step<Option<Made>> {
        let gone = || Stop::failed("the application has ended");
        self.jobs.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
        let begun = linux::monotonic();
        self.busy = true;
        loop {
            if let Some(made) = self.wait(GLANCE)? {
                return Ok(Some(made));
            }
            let since = linux::monotonic() - begun;
            // A thread that has not even begun sleeps, too, so it gets a moment.
            let settled = since > Span::from_micros(200) && linux::is_sleeping(self.thread_id);
            if settled || since > PATIENCE {
                return self.wait(Span::ZERO);
            }
        }
    }

    /// Looks whether the call that waits has returned.
    pub(super) fn ask(&mut self) -> Step<Option<Made>> {
        self.wait(Span::ZERO)
    }

    fn wait(&mut self, limit: Span) -> Step<Option<Made>> {
        match self.made.recv_timeout(std::time::Duration::from_nanos(limit.as_nanos())) {
            Ok(made) => {
                self.busy = false;
                Ok(Some(made))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Stop::failed("the application has ended within a call"))
            }
        }
    }

    /// Ends the thread. A call that still waits has lost its sockets and returns; should it not,
    /// the thread is left behind and ends with the process.
    pub(super) fn end(&mut self) {
        self.jobs = None;
        let idle = !self.busy || self.wait(Span::from_millis(500)).is_ok_and(|made| made.is_some());
        if let (true, Some(thread)) = (idle, self.thread.take()) {
            // A thread that has panicked has told so already.
            let _ = thread.join();
        }
    }
}

pub(super) fn poll(call: &Call, open: &Descriptors) -> Step<Prepared> {
    let entries = call.argument(0)?.members()?;
    let mut watched = Vec::new();
    let mut expected = Vec::new();
    for entry in entries {
        let events = entry.required_field("events")?.number()?;
        let events = i16::try_from(events).map_err(|_| Stop::failed("events of 16 bits"))?;
        watched.push((open.live(entry.required_field("fd")?)?, events, 0_i16));
        expected.push(entry.field("revents").cloned().unwrap_or(Expression::Any));
    }
    let timeout = call.int(2)?;
    Ok(Prepared::new(move || {
        let raw = linux::descriptors_wait(&mut watched, timeout);
        let met = watched.iter().zip(&expected).try_for_each(|((_, _, returned), expected)| {
            expected.expect_number("revents", i64::from(*returned))
        });
        Made::now(raw).checked(met)
    }))
}

/// `epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN, fd=4})`
pub(super) fn epoll_control(call: &Call, open: &Descriptors) -> Step<Prepared> {
    let epoll = open.live(call.argument(0)?)?;
    let operation = call.int(1)?;
    let descriptor = open.live(call.argument(2)?)?;
    let event = match call.argument(3)? {
        Expression::Any => (0, 0),
        record => record.epoll_event()?,
    };
    let events = u32::try_from(event.0).map_err(|_| Stop::failed("events of 32 bits"))?;
    let event = (events, event.1.cast_unsigned());
    Ok(Prepared::new(move || Made::now(linux::epoll_control(epoll, operation, descriptor, event))))
}

/// `epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0)`
pub(super) fn epoll_wait(call: &Call, open: &Descriptors) -> Step<Prepared> {
    let epoll = open.live(call.argument(0)?)?;
    let expected = call.argument(1)?.epoll_events()?;
    let (most, timeout) = (call.int(2)?, call.int(3)?);
    Ok(Prepared::new(move || {
        let (raw, seen) = linux::epoll_wait(epoll, most, timeout);
        let seen: Vec<_> = seen.iter().map(|one| (i64::from(one.0), one.1.cast_signed())).collect();
        Made::now(raw).checked(verify_epoll_events(expected.as_deref(), &seen))
    }))
}
