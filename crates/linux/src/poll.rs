//! `epoll` with timeouts in nanoseconds, without allocation.

use super::{checked, owned, socket};
use crate::KernelError;
use fairwind_units::{Instant, Span};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// A clock, and the wait for descriptors by it. Whoever keeps real time takes it as an argument.
pub trait Clock: Send {
    /// Monotonic time.
    fn now(&self) -> Instant;

    /// Waits until descriptors are ready, at most for `limit`; returns how many are.
    fn wait(&self, poll: &mut Poll, limit: Span) -> usize;
}

/// `CLOCK_MONOTONIC` of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Instant {
        super::monotonic()
    }

    #[inline]
    fn wait(&self, poll: &mut Poll, limit: Span) -> usize {
        poll.wait(limit)
    }
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
        let raw = socket::epoll_create(libc::EPOLL_CLOEXEC);
        let epoll = owned("make an epoll descriptor", i32::try_from(raw.value).unwrap_or(-1))?;
        let nothing = libc::epoll_event { events: 0, u64: 0 };
        let mut poll = Self { epoll, ready: vec![nothing; at_once], waits_exactly: true };
        if poll.wait_raw(Span::ZERO) < 0 {
            poll.waits_exactly = false;
            // Without such a call every wait would seem to find nothing, for ever.
            checked("wait for descriptors", poll.wait_raw(Span::ZERO))?;
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
        checked("watch a descriptor", raw.value).map(|_| ())
    }

    /// Waits until something happens, at most for `limit`; returns how many descriptors are ready. A
    /// signal is as good as time running out.
    pub fn wait(&mut self, limit: Span) -> usize {
        usize::try_from(self.wait_raw(limit)).unwrap_or(0)
    }

    fn wait_raw(&mut self, limit: Span) -> i64 {
        let timeout = libc::timespec {
            tv_sec: i64::try_from(limit.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(limit.as_nanos() % 1_000_000_000).unwrap_or(0),
        };
        let most = i32::try_from(self.ready.len()).unwrap_or(i32::MAX);
        if !self.waits_exactly {
            return self.wait_in_two_calls(&timeout, most);
        }
        // The call by its number: C libraries have had a function for it only since glibc 2.35.
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
