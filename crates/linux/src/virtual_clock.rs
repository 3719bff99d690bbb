//! The clock of a kernel in virtual time as a page in memory (`python/fairwind/kernels/virtual_clock.c`).

use fairwind_units::{Instant, Span};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const DEVICE: &str = "/dev/fairwind-clock";
const PAGE_BYTES: usize = 4096;

/// The page, which the kernel writes whenever its time goes on.
#[derive(Debug)]
pub struct ClockPage {
    time: NonNull<AtomicU64>,
    /// What `CLOCK_MONOTONIC` showed when the page showed 0.
    origin: Instant,
}

// SAFETY: the page is only read, and belongs to nobody else.
unsafe impl Send for ClockPage {}

impl ClockPage {
    /// The page of this machine's kernel, which shows what `monotonic` asks it for; `None` where it has none.
    pub fn open(monotonic: impl FnOnce() -> Instant) -> Option<Self> {
        let device = File::open(DEVICE).ok()?;
        let descriptor = device.as_raw_fd();
        let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a new mapping, of the length that the device has.
        let mapped = unsafe {
            libc::mmap(std::ptr::null_mut(), PAGE_BYTES, protection, flags, descriptor, 0)
        };
        let time = NonNull::new(mapped.cast()).filter(|_| mapped != libc::MAP_FAILED)?;
        let mut page = Self { time, origin: Instant::ZERO };
        // The call lets the clock go on a step before it answers, so the page shows the same afterwards.
        let shown = monotonic();
        page.origin = Instant::from_nanos(shown.as_nanos().checked_sub(page.elapsed().as_nanos())?);
        Some(page)
    }

    /// `CLOCK_MONOTONIC`.
    #[inline]
    pub fn now(&self) -> Instant {
        self.origin + self.elapsed()
    }

    #[inline]
    fn elapsed(&self) -> Span {
        // SAFETY: the page is mapped until this is dropped, and begins with the time.
        Span::from_nanos(unsafe { self.time.as_ref() }.load(Ordering::Relaxed))
    }
}

impl Drop for ClockPage {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.time.as_ptr().cast(), PAGE_BYTES) };
    }
}
