//! The clock of a kernel in virtual time as a page in memory (`python/fairwind/kernels/virtual_clock.c`).

use fairwind_units::Instant;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const DEVICE: &str = "/dev/fairwind-clock";
const PAGE_BYTES: usize = 4096;
/// A step of the kernel's clock.
const STEP_NANOS: u64 = 256;

/// The page, which the kernel writes whenever its time goes on.
#[derive(Debug)]
pub struct ClockPage {
    time: NonNull<AtomicU64>,
    /// `CLOCK_MONOTONIC` less what the page shows, in nanoseconds.
    ahead: u64,
}

// SAFETY: the page is only read, and belongs to nobody else.
unsafe impl Send for ClockPage {}

impl ClockPage {
    /// The page of this machine's kernel, which shows what `monotonic` asks it for; `None` where it has none.
    pub fn open(monotonic: impl Fn() -> Instant) -> Option<Self> {
        let device = File::open(DEVICE).ok()?;
        let descriptor = device.as_raw_fd();
        let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a new mapping, of the length that the device has.
        let mapped = unsafe {
            libc::mmap(std::ptr::null_mut(), PAGE_BYTES, protection, flags, descriptor, 0)
        };
        let time = NonNull::new(mapped.cast()).filter(|_| mapped != libc::MAP_FAILED)?;
        let mut page = Self { time, ahead: 0 };
        // The call lets the clock go on by a step and answers by it. By more it goes on where another process comes
        // between.
        loop {
            let before = page.shown();
            let answer = monotonic();
            let after = page.shown();
            if after - before <= STEP_NANOS {
                page.ahead = answer.as_nanos().wrapping_sub(after);
                return Some(page);
            }
        }
    }

    /// `CLOCK_MONOTONIC`.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.shown().wrapping_add(self.ahead))
    }

    #[inline]
    fn shown(&self) -> u64 {
        // SAFETY: the page is mapped until this is dropped, and begins with the time.
        unsafe { self.time.as_ref() }.load(Ordering::Relaxed)
    }
}

impl Drop for ClockPage {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.time.as_ptr().cast(), PAGE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{monotonic, wait_readable};
    use fairwind_units::Span;

    #[test]
    fn page_shows_what_the_kernel_answers() {
        let Some(page) = ClockPage::open(monotonic) else {
            println!("skipped: this kernel does not show its clock");
            return;
        };
        for micros in [0, 1, 1234, 100_000] {
            wait_readable(&[], Span::from_micros(micros));
            let answer = monotonic();
            assert_eq!(page.now(), answer);
            assert_eq!(page.now(), answer, "it stands still");
        }
    }
}
