//! Waiting for many descriptors with the finest timer that the kernel has, without allocating.

use super::{checked, owned};
use crate::TestbedError;
use fairwind_units::Span;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Descriptors told of by one look.
const MOST_EVENTS: usize = 64;

/// Tells which of the watched descriptors can be read.
pub(crate) struct Readiness {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
    ready: usize,
}

impl Readiness {
    /// Watches nothing yet.
    pub(crate) fn new() -> Result<Self, TestbedError> {
        // SAFETY: takes no pointers.
        let descriptor = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        let epoll = owned("make an epoll instance", descriptor)?;
        Ok(Self {
            epoll,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; MOST_EVENTS],
            ready: 0,
        })
    }

    /// Watches `descriptor`, which is called `number` from now on, for something to read.
    pub(crate) fn watch(
        &self,
        descriptor: BorrowedFd<'_>,
        number: u32,
    ) -> Result<(), TestbedError> {
        let mut event =
            libc::epoll_event { events: libc::EPOLLIN.cast_unsigned(), u64: number.into() };
        // SAFETY: both descriptors are open, and the event lives over the call.
        let result = unsafe {
            libc::epoll_ctl(
                self.epoll.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                descriptor.as_raw_fd(),
                &raw mut event,
            )
        };
        checked("watch a descriptor", i64::from(result)).map(|_| ())
    }

    /// Waits until something can be read, at most for `limit`. A signal is as good as time running
    /// out.
    pub(crate) fn wait(&mut self, limit: Span) {
        let nanos = limit.as_nanos();
        let timeout = libc::timespec {
            tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(nanos % 1_000_000_000).unwrap_or(0),
        };
        // SAFETY: the events and the time live over the call; there is room for as many events as is
        // said, and no set of signals.
        let result = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                MOST_EVENTS,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        self.ready = usize::try_from(result).unwrap_or(0);
    }

    /// The number of ready descriptor `place`, in the order of the last wait; `None` behind the
    /// last one.
    pub(crate) fn ready(&self, place: usize) -> Option<u32> {
        let event = self.events.get(..self.ready)?.get(place)?;
        u32::try_from(event.u64).ok()
    }
}
