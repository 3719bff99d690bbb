//! What the kernel tells about itself by calls.

use fairwind_units::Span;
use std::collections::BTreeSet;
use std::os::fd::AsRawFd;

/// The step of the kernel's timers: its coarse clock advances by it.
pub(crate) fn tick() -> Span {
    resolution(libc::CLOCK_MONOTONIC_COARSE)
}

/// The step of the clock that everything is timed by.
pub(crate) fn clock_resolution() -> Span {
    resolution(libc::CLOCK_MONOTONIC)
}

fn resolution(clock: libc::clockid_t) -> Span {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `step` lives over the call; these clocks exist.
    unsafe { libc::clock_getres(clock, &raw mut step) };
    Span::from_nanos(super::thread::nanos(step.tv_sec, step.tv_nsec))
}

/// Those of `options` at the level of TCP that a socket of this kernel knows.
pub(crate) fn known_tcp_options(options: &[i32]) -> BTreeSet<i32> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let descriptor = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    let Ok(socket) = super::owned("open a socket", descriptor) else { return BTreeSet::new() };
    let known = |option: &&i32| {
        let mut value = [0; 4];
        let level = libc::IPPROTO_TCP;
        super::get_option(socket.as_raw_fd(), level, **option, &mut value).0.value >= 0
    };
    options.iter().filter(known).copied().collect()
}
