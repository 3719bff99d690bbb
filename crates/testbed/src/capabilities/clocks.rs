//! Clock, timers, processors.

use super::{Capability, State, read};
use fairwind_linux as linux;
use fairwind_router::LATENESS_BOUND;
use fairwind_units::Span;

/// How often a timer is tried.
const WAITS: usize = 300;
/// How long each time.
const WAIT: Span = Span::from_millis(1);

pub(super) fn probe() -> Vec<Capability> {
    vec![clock(), tick(), lateness(), processors()]
}

fn clock() -> Capability {
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let resolution = linux::clock_resolution();
    let found = format!("{source}, in steps of {resolution}");
    if resolution <= Span::from_micros(1) {
        return Capability::ok("clock", found);
    }
    let remedy = "a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS)";
    Capability::lacking("clock", State::Limited, found, remedy)
}

/// The step of TCP's own timers.
fn tick() -> Capability {
    let tick = linux::tick();
    let rate = 1_000_000_000 / tick.as_nanos().max(1);
    Capability::ok("timers of TCP", format!("{rate} Hz, in steps of {tick}"))
}

/// How late the router would be woken here and now.
fn lateness() -> Capability {
    let what = "timer lateness";
    let mut late: Vec<Span> = std::thread::spawn(|| {
        linux::prefer();
        (0..WAITS)
            .map(|_| {
                let due = linux::monotonic() + WAIT;
                linux::wait_readable(&[], WAIT);
                linux::monotonic().saturating_since(due)
            })
            .collect()
    })
    .join()
    .unwrap_or_default();
    late.sort();
    let at = |share: usize| late.get(late.len() * share / 100).copied().unwrap_or(Span::MAX);
    let micros = |span: Span| span.as_nanos().div_ceil(1_000);
    let found = format!("median {} us, 99th percentile {} us", micros(at(50)), micros(at(99)));
    if at(99) <= LATENESS_BOUND {
        return Capability::ok(what, found);
    }
    let remedy = "packets will be late: let nothing else run, or use a machine with a faster clock \
                  interrupt";
    Capability::lacking(what, State::Limited, found, remedy)
}

fn processors() -> Capability {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let found = count.to_string();
    if count >= 2 {
        return Capability::ok("processors for the kernel", found);
    }
    let remedy = "router and hosts share one: expect lateness beyond some ten Mbit/s";
    Capability::lacking("processors for the kernel", State::Limited, found, remedy)
}
