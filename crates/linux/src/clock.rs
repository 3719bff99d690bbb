//! Clocks, and waiting to the nanosecond without allocation.

use crate::virtual_clock::ClockPage;
use crate::{KernelError, Raw, checked, socket};
use fairwind_units::{Instant, Span};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_getres, clock_gettime};
use std::cell::Cell;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// A clock. Whoever keeps real time takes it as an argument.
pub trait Clock: Send {
    /// Monotonic time.
    fn now(&self) -> Instant;

    /// Whether time stands still while anything computes.
    fn is_virtual(&self) -> bool;

    /// Something was waited for, so that time may have gone on.
    fn note_wait(&self);
}

/// `CLOCK_MONOTONIC` of the machine, in real or in virtual time.
///
/// Virtual time stands still while anything computes. Asking such a kernel for it costs two switches between processes,
/// and lets a fraction of a microsecond pass.
#[derive(Debug, Default)]
pub enum MonotonicClock {
    /// It goes on while anything computes.
    #[default]
    Real,
    /// Virtual time as a page in memory.
    Shown(ClockPage),
    /// Virtual time of a kernel without that page: what it showed after the last wait still counts.
    Remembered(Cell<Instant>),
}

impl MonotonicClock {
    /// The clock of a machine whose time is virtual, or not.
    pub fn of(is_time_virtual: bool) -> Self {
        if !is_time_virtual {
            return Self::Real;
        }
        ClockPage::open(monotonic)
            .map_or_else(|| Self::Remembered(Cell::new(monotonic())), Self::Shown)
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Instant {
        match self {
            Self::Real => monotonic(),
            Self::Shown(page) => page.now(),
            Self::Remembered(latest) => latest.get(),
        }
    }

    fn is_virtual(&self) -> bool {
        !matches!(self, Self::Real)
    }

    #[inline]
    fn note_wait(&self) {
        if let Self::Remembered(latest) = self {
            latest.set(monotonic());
        }
    }
}

/// The clock that scripts are followed by.
#[inline]
pub fn monotonic() -> Instant {
    let now = clock_gettime(ClockId::Monotonic);
    Instant::from_nanos(nanos(now.tv_sec, now.tv_nsec))
}

/// The clock that packets are stamped by, in nanoseconds.
pub fn realtime() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    nanos(now.tv_sec, now.tv_nsec)
}

/// The step of the kernel's timers: its coarse clock advances by it.
pub fn tick() -> Span {
    resolution(ClockId::MonotonicCoarse)
}

/// The step of the clock that everything is timed by.
pub fn clock_resolution() -> Span {
    resolution(ClockId::Monotonic)
}

fn resolution(clock: ClockId) -> Span {
    let step = clock_getres(clock);
    Span::from_nanos(nanos(step.tv_sec, step.tv_nsec))
}

/// Seconds and nanoseconds as the kernel hands them over, which are never negative.
pub(crate) fn nanos(seconds: i64, rest: i64) -> u64 {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(rest).unwrap_or(0)
}

fn timespec(span: Span) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(span.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(span.as_nanos() % 1_000_000_000).unwrap_or(0),
    }
}

/// Waits until one of the descriptors can be read, at most for `limit`.
pub fn wait_readable(descriptors: &[&dyn AsFd], limit: Span) {
    let watched =
        descriptors.iter().map(|one| PollFd::from_borrowed_fd(one.as_fd(), PollFlags::IN));
    // A failure or a signal is as good as time running out: the caller looks itself.
    let _ = poll(&mut watched.collect::<Vec<_>>(), Some(&timespec(limit)));
}

/// Waits until one of the first can be read or one of the others be written, at most for `limit`.
pub fn wait_ready(readable: &[&dyn AsFd], writable: &[&dyn AsFd], limit: Span) {
    let readable = readable.iter().map(|one| (one, PollFlags::IN));
    let all = readable.chain(writable.iter().map(|one| (one, PollFlags::OUT)));
    let watched = all.map(|(one, flags)| PollFd::from_borrowed_fd(one.as_fd(), flags));
    let _ = poll(&mut watched.collect::<Vec<_>>(), Some(&timespec(limit)));
}

/// Whether a write to a descriptor returns at once, if only because nobody can read it any more.
pub fn is_writable(descriptor: &dyn AsFd) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(descriptor.as_fd(), PollFlags::OUT)];
    poll(&mut watched, Some(&timespec(Span::ZERO))).is_ok_and(|ready| ready > 0)
}

/// Many descriptors to wait for.
#[derive(Debug)]
pub struct Poll {
    epoll: OwnedFd,
    ready: Vec<libc::epoll_event>,
    /// Whether the kernel has `epoll_pwait2` (Linux 5.11).
    waits_exactly: bool,
}

/// What happened with a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// What it was registered with.
    pub token: u64,
    /// `EPOLLIN`, `EPOLLOUT`, ...
    pub events: u32,
}

impl Ready {
    /// Whether one of these events is among them.
    pub fn has(self, events: i32) -> bool {
        self.events & events.cast_unsigned() != 0
    }
}

impl Poll {
    /// Takes up to `at_once` events per wait.
    pub fn new(at_once: usize) -> Result<Self, KernelError> {
        let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC);
        let epoll = checked("make an epoll descriptor", epoll)?;
        let nothing = libc::epoll_event { events: 0, u64: 0 };
        let mut poll = Self { epoll, ready: vec![nothing; at_once], waits_exactly: true };
        if poll.wait_raw(Span::ZERO) < 0 {
            poll.waits_exactly = false;
            // Without such a call every wait would seem to find nothing, for ever.
            let waited = Raw::of(poll.wait_raw(Span::ZERO)).result();
            checked("wait for descriptors", waited)?;
        }
        Ok(poll)
    }

    /// Watches a descriptor for `events`, which are reported with `token`.
    pub fn add(&self, descriptor: impl AsFd, token: u64, events: i32) -> Result<(), KernelError> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, token, events)
    }

    /// Watches a descriptor for other events.
    pub fn change(
        &self,
        descriptor: impl AsFd,
        token: u64,
        events: i32,
    ) -> Result<(), KernelError> {
        self.control(libc::EPOLL_CTL_MOD, descriptor, token, events)
    }

    fn control(
        &self,
        operation: i32,
        descriptor: impl AsFd,
        token: u64,
        events: i32,
    ) -> Result<(), KernelError> {
        let raw = socket::epoll_control(
            self.epoll.as_raw_fd(),
            operation,
            descriptor.as_fd().as_raw_fd(),
            (events.cast_unsigned(), token),
        );
        checked("watch a descriptor", raw.result()).map(|_| ())
    }

    /// Waits until something happens, at most for `limit`; returns how many descriptors are ready. A
    /// signal is as good as time running out.
    pub fn wait(&mut self, limit: Span) -> usize {
        usize::try_from(self.wait_raw(limit)).unwrap_or(0)
    }

    /// `epoll_pwait2` by its number: C libraries have had a function for it only since glibc 2.35, and `rustix` rounds
    /// to milliseconds unless it is built for Linux 5.11.
    fn wait_raw(&mut self, limit: Span) -> i64 {
        let timeout = timespec(limit);
        let timeout = libc::timespec { tv_sec: timeout.tv_sec, tv_nsec: timeout.tv_nsec };
        let most = i32::try_from(self.ready.len()).unwrap_or(i32::MAX);
        if !self.waits_exactly {
            return self.wait_in_two_calls(&timeout, most);
        }
        // SAFETY: the array is as long as is said, the time lives over the call, and there is no set
        // of signals.
        unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.ready.as_mut_ptr(),
                most,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        }
    }

    /// Waits for the epoll descriptor itself, by a call that older kernels have, and then asks what is ready.
    fn wait_in_two_calls(&mut self, timeout: &libc::timespec, most: i32) -> i64 {
        let mut watched =
            libc::pollfd { fd: self.epoll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the entry and the time live over the call, and there is no set of signals.
        unsafe { libc::ppoll(&raw mut watched, 1, timeout, std::ptr::null()) };
        // SAFETY: the array is as long as is said.
        let ready =
            unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), self.ready.as_mut_ptr(), most, 0) };
        i64::from(ready)
    }

    /// What happened with the descriptor that is ready in this place.
    pub fn readiness(&self, place: usize) -> Ready {
        let event = self.ready[place];
        Ready { token: event.u64, events: event.events }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn remembered_clock_stands_still_between_waits() {
        let mut poll = Poll::new(1).expect("epoll");
        let pause = Span::from_micros(500);
        let remembered = MonotonicClock::Remembered(Cell::new(monotonic()));
        for (clock, stands_still) in [(remembered, true), (MonotonicClock::Real, false)] {
            let began = clock.now();
            wait_readable(&[], pause);
            assert_eq!(clock.now() == began, stands_still);
            assert_eq!(poll.wait(pause), 0);
            clock.note_wait();
            assert!(clock.now() >= began + pause + pause);
        }
    }

    #[test]
    fn older_kernels_wait_in_two_calls() {
        let (mut ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        for waits_exactly in [true, false] {
            let mut poll = Poll::new(4).expect("epoll");
            poll.waits_exactly &= waits_exactly;
            poll.add(&theirs, 7, libc::EPOLLIN).expect("watched");
            let began = crate::monotonic();
            if waits_exactly {
                assert_eq!(poll.wait(Span::from_micros(1_500)), 0);
                assert!(crate::monotonic() >= began + Span::from_micros(1_500));
                ours.write_all(b"x").expect("written");
            }
            assert_eq!(poll.wait(Span::from_secs(1)), 1);
            assert_eq!(poll.readiness(0).token, 7);
        }
    }
}
