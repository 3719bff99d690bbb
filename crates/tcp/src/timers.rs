//! Timers, exact or with ticks as Linux has them; the timestamp clock (RFC 7323 §5.4).
//!
//! Source: Linux 6.18 `calc_wheel_index`, `calc_index` and `__mod_timer`, Linux 3.16 `apply_slack`
//! (`kernel/time/timer.c`, `kernel/timer.c`).

use crate::config::TimerRule;
use fairwind_units::{Instant, Span};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer {
    /// [`Instant::MAX`] while it is not set.
    due: Instant,
    /// When it was set; equal to `due` for an exact timer.
    set_at: Instant,
}

impl Default for Timer {
    fn default() -> Self {
        Self::OFF
    }
}

impl Timer {
    pub(crate) const OFF: Self = Self { due: Instant::MAX, set_at: Instant::MAX };

    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    pub(crate) fn is_set(&self) -> bool {
        self.due != Instant::MAX
    }

    /// Sets it to `wait` from `now`.
    pub(crate) fn set(&mut self, now: Instant, wait: Span) {
        *self = Self { due: now + wait, set_at: now };
    }

    /// Sets it for the very instant, as the kernel's timers of high resolution are.
    pub(crate) fn set_exactly(&mut self, due: Instant) {
        *self = Self { due, set_at: due };
    }

    /// Sets it if it is not due before.
    #[inline]
    pub(crate) fn hasten(&mut self, now: Instant, wait: Span) {
        if now + wait < self.due {
            self.set(now, wait);
        }
    }

    /// The same for an exact timer.
    #[inline]
    pub(crate) fn hasten_exactly(&mut self, due: Instant) {
        if due < self.due {
            self.set_exactly(due);
        }
    }

    pub(crate) fn stop(&mut self) {
        *self = Self::OFF;
    }

    /// Stops it if it has expired; returns whether it has. A due timer may still have to wait for its
    /// turn.
    pub(crate) fn expire(&mut self, clock: Clock, now: Instant) -> bool {
        self.due <= now && self.run_out(clock, now)
    }

    fn run_out(&mut self, clock: Clock, now: Instant) -> bool {
        if self.set_at != self.due
            && let Some(tick) = clock.tick_of(self.set_at, self.due)
        {
            let turn = clock.turn_after(tick);
            if tick >= self.due && turn > now {
                self.set_exactly(turn);
                return false;
            }
        }
        self.stop();
        true
    }
}

/// Timer rule of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    rule: TimerRule,
    /// Identifies the connection among those of its host.
    connection: u32,
}

/// Time in which the timers of one bucket expire one after the other.
const TURNS: Span = Span::from_micros(1);

impl Clock {
    pub(crate) fn new(rule: TimerRule, connection: u32) -> Self {
        Self { rule, connection }
    }

    /// Tick at which a timer expires that was set at `set_at` and is due at `due`; none where timers are exact.
    fn tick_of(self, set_at: Instant, due: Instant) -> Option<Instant> {
        match self.rule {
            TimerRule::Exact => None,
            TimerRule::Slack { tick } => Some(tick_with_slack(set_at, due, tick)),
            TimerRule::Wheel { tick } => Some(tick_of_wheel(set_at, due, tick)),
        }
    }

    /// Pseudo-random turn of the connection among those with timers at `tick`, because several processors
    /// process them in varying order. With a fixed order the same connections would always find the last
    /// room of a queue.
    fn turn_after(self, tick: Instant) -> Instant {
        let mixed = (u64::from(self.connection) ^ tick.as_nanos()).wrapping_mul(MIXER);
        tick + Span::from_nanos((mixed >> 32) % TURNS.as_nanos())
    }
}

/// An odd number without a pattern: the fraction of the golden ratio in 64 bits.
const MIXER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Buckets of one level of the wheel, less the present one (`LVL_SIZE - 1`).
const LEVEL_REACH: u64 = 63;
/// Each level's buckets are eight times as wide as those of the level before (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;
/// Levels of a wheel (`LVL_DEPTH` for clocks of more than 100 Hz).
const LEVELS: u32 = 9;

/// Tick at which a timer expires that was set at `set_at` and is due at `due`: the end of its
/// bucket, which is wider for longer waits.
fn tick_of_wheel(set_at: Instant, due: Instant, tick: Span) -> Instant {
    let tick = tick.as_nanos().max(1);
    let ticks = ticks_between(set_at, due, tick);
    let mut shift = 0;
    while ticks >= LEVEL_REACH << shift && shift < LEVEL_SHIFT * (LEVELS - 1) {
        shift += LEVEL_SHIFT;
    }
    let expires = set_at.as_nanos() / tick + ticks;
    let bucket_end = ((expires >> shift) + 1) << shift;
    Instant::from_nanos(bucket_end.saturating_mul(tick))
}

/// Waits of so many ticks get one tick of slack, longer ones in proportion (`apply_slack`).
const TICKS_PER_SLACK: u64 = 256;

/// Tick at which a timer expires that was set at `set_at` and is due at `due`: of those within its slack, the multiple
/// of the highest power of two.
fn tick_with_slack(set_at: Instant, due: Instant, tick: Span) -> Instant {
    let tick = tick.as_nanos().max(1);
    let ticks = ticks_between(set_at, due, tick);
    let expires = set_at.as_nanos() / tick + ticks;
    let latest = expires + ticks / TICKS_PER_SLACK;
    let chosen = match (expires ^ latest).checked_ilog2() {
        Some(bit) => latest >> bit << bit,
        None => expires,
    };
    Instant::from_nanos(chosen.saturating_mul(tick))
}

/// Ticks of a wait, the last one begun counted whole.
fn ticks_between(set_at: Instant, due: Instant, tick_nanos: u64) -> u64 {
    due.saturating_since(set_at).as_nanos().div_ceil(tick_nanos)
}

/// Milliseconds, from 1 because an echo of 0 means no timestamp.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the timestamp clock wraps")]
pub(crate) fn timestamp_at(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000 + 1) as u32
}

/// Whether one reading of the clock is earlier than another, modulo 2^32.
#[inline]
pub(crate) fn is_earlier(reading: u32, reference: u32) -> bool {
    reference.wrapping_sub(reading).wrapping_sub(1) < 0x7fff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Clock = Clock { rule: TimerRule::Exact, connection: 1 };
    const WHEEL: Clock =
        Clock { rule: TimerRule::Wheel { tick: Span::from_millis(4) }, connection: 1 };

    /// When a timer that is set at `set_at_us` for `wait_ms` runs out, in milliseconds.
    fn runs_out_at(clock: Clock, set_at_us: u64, wait_ms: u64) -> u64 {
        let mut timer = Timer::OFF;
        timer.set(Instant::from_nanos(set_at_us * 1_000), Span::from_millis(wait_ms));
        let due = timer.due();
        if !timer.expire(clock, due) {
            let tick = timer.due();
            assert!(!timer.expire(clock, Instant::from_nanos(tick.as_nanos() - 1)));
            assert!(timer.expire(clock, tick));
            return tick.as_nanos() / 1_000_000;
        }
        due.as_nanos() / 1_000_000
    }

    #[test]
    fn exact_timer_expires_when_due() {
        assert_eq!(runs_out_at(EXACT, 1_000, 200), 201);
        assert_eq!(runs_out_at(EXACT, 1_000, 3_000), 3_001);
    }

    /// 200 ms are 50 ticks on the first level: the timer expires at the next tick after them.
    #[test]
    fn short_wait_ends_at_next_tick() {
        assert_eq!(runs_out_at(WHEEL, 1_000, 200), 204);
        assert_eq!(runs_out_at(WHEEL, 5_000, 200), 208);
        assert_eq!(runs_out_at(WHEEL, 7_999, 198), 208);
    }

    /// 252 ms are 63 ticks, of the second level with buckets of 32 ms; 2016 ms of the third with 256 ms.
    #[test]
    fn longer_waits_end_together_with_others() {
        assert_eq!(runs_out_at(WHEEL, 1_000, 248), 252);
        assert_eq!(runs_out_at(WHEEL, 1_000, 252), 256);
        assert_eq!(runs_out_at(WHEEL, 5_000, 252), 288);
        for set_at_ms in [25, 40, 55] {
            assert_eq!(runs_out_at(WHEEL, set_at_ms * 1_000, 1_000), 1_056);
        }
        for set_at_ms in [75, 150, 250] {
            assert_eq!(runs_out_at(WHEEL, set_at_ms * 1_000, 3_000), 3_328);
        }
        assert_eq!(runs_out_at(WHEEL, 0, 20_000), 20_480);
    }

    const SLACK: Clock =
        Clock { rule: TimerRule::Slack { tick: Span::from_millis(4) }, connection: 1 };

    /// Less than 256 ticks of 4 ms: at the next tick after the wait, or when it is over between two ticks.
    #[test]
    fn short_wait_has_no_slack() {
        assert_eq!(runs_out_at(SLACK, 0, 200), 200);
        assert_eq!(runs_out_at(SLACK, 1_000, 198), 200);
        assert_eq!(runs_out_at(SLACK, 1_000, 200), 201);
        assert_eq!(runs_out_at(SLACK, 1_000, 1_018), 1_020);
    }

    /// 1100 ms are 275 ticks, with slack of one; 16 s are 4000 ticks, with slack of 15.
    #[test]
    fn long_wait_ends_at_roundest_tick_within_slack() {
        assert_eq!(runs_out_at(SLACK, 0, 1_100), 1_104);
        assert_eq!(runs_out_at(SLACK, 4_000, 1_100), 1_108);
        for set_at_ms in [4, 20, 36] {
            assert_eq!(runs_out_at(SLACK, set_at_ms * 1_000, 16_000), 16_064);
        }
    }

    #[test]
    fn order_of_timers_varies_per_tick() {
        let order = |tick_ms| {
            let mut turns: Vec<_> = (0..20)
                .map(|connection| {
                    let clock = Clock { connection, ..WHEEL };
                    (clock.turn_after(Instant::from_millis(tick_ms)), connection)
                })
                .collect();
            turns.sort_unstable();
            turns
        };
        let last = Instant::from_millis(1_056) + TURNS;
        assert!(order(1_056).iter().all(|&(turn, _)| turn < last));
        let who = |tick_ms| order(tick_ms).iter().map(|&(_, who)| who).collect::<Vec<_>>();
        assert_ne!(who(1_056), who(1_088));
        assert_eq!(who(1_056), who(1_056));
    }

    #[test]
    fn exact_timer_ignores_ticks() {
        let mut timer = Timer::OFF;
        timer.set_exactly(Instant::from_nanos(1_234_567));
        assert!(timer.expire(WHEEL, Instant::from_nanos(1_234_567)));
        assert!(!timer.is_set());
    }
}
