//! Calls of the kernel, read word by word from the records of `recorder.h`.

use fairwind_tcp::{AckReport, PRIVATE_WORDS, RateSample, TcpSock};

/// Hooks that algorithms here have.
pub(crate) const HOOKS: [&str; 10] = [
    "init",
    "ssthresh",
    "cong_avoid",
    "cong_control",
    "set_state",
    "cwnd_event",
    "in_ack_event",
    "pkts_acked",
    "undo_cwnd",
    "release",
];

/// Words that a hook is given at most.
const ARGUMENTS: usize = 18;

/// The beginning or the end of a call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) connection: u64,
    pub(crate) hook: &'static str,
    pub(crate) is_over: bool,
    /// What `ssthresh` and `undo_cwnd` give.
    pub(crate) answer: u32,
    /// Requested acknowledgments until then, and the last number.
    pub(crate) asked: u64,
    pub(crate) asked_number: u32,
    /// Those of `cong_control` are two, and then the fields of the sample.
    pub(crate) arguments: [u64; ARGUMENTS],
    pub(crate) sender: TcpSock,
}

impl Call {
    pub(crate) fn report(&self) -> AckReport {
        let [acknowledged, rtt, flight, ..] = self.arguments;
        AckReport {
            acknowledged: narrow(acknowledged),
            rtt_micros: narrow(rtt).cast_signed(),
            flight_bytes: narrow(flight),
        }
    }

    pub(crate) fn sample(&self) -> RateSample {
        let mut words = Words(self.arguments[2..].iter().copied());
        RateSample {
            delivered_at_before_micros: words.take(),
            delivered_before: words.narrow(),
            marked_before: words.narrow(),
            delivered: words.narrow().cast_signed(),
            marked: words.narrow().cast_signed(),
            interval_micros: words.take().cast_signed(),
            sending_micros: words.narrow(),
            acknowledging_micros: words.narrow(),
            rtt_micros: words.take().cast_signed(),
            losses: words.narrow().cast_signed(),
            newly_delivered: words.narrow(),
            flight_before: words.narrow(),
            end: words.narrow(),
            is_application_limited: words.take() == 1,
            is_retransmission: words.take() == 1,
            is_delayed: words.take() == 1,
        }
    }

    pub(crate) fn argument(&self, place: usize) -> u32 {
        narrow(self.arguments[place])
    }

    /// Reads a record of the ring.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
        let mut words = Words(words);
        let hook = hook(words.take());
        let is_over = words.take() == 1;
        let connection = words.take();
        let (jiffies, ticks_per_second) = (words.take(), words.take());
        let answer = words.narrow();
        let (asked, asked_number) = (words.take(), words.narrow());
        let arguments = std::array::from_fn(|_| words.take());
        let sender = sender(&mut words, jiffies, ticks_per_second);
        assert_eq!(words.0.next(), None, "recorder.h and tape.rs have the same fields");
        Self { connection, hook, is_over, answer, asked, asked_number, arguments, sender }
    }
}

/// The hook with a name that begins with these eight letters.
fn hook(letters: u64) -> &'static str {
    let letters = letters.to_ne_bytes();
    let text = str::from_utf8(&letters).unwrap().trim_end_matches('\0');
    HOOKS.into_iter().find(|hook| hook.starts_with(text)).expect("every hook is known")
}

fn narrow(word: u64) -> u32 {
    u32::try_from(word).unwrap()
}

struct Words<I>(I);

impl<I: Iterator<Item = u64>> Words<I> {
    fn take(&mut self) -> u64 {
        self.0.next().expect("recorder.h and tape.rs have the same fields")
    }

    fn narrow(&mut self) -> u32 {
        narrow(self.take())
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.take()).unwrap()
    }
}

/// The fields in the order of `take_fields`.
fn sender(
    words: &mut Words<impl Iterator<Item = u64>>,
    jiffies: u64,
    ticks_per_second: u64,
) -> TcpSock {
    let mut sender = TcpSock::default();
    sender.control.pacing.rate = words.take();
    sender.control.pacing.max_rate = words.take();
    sender.control.pacing.status = words.narrow();
    sender.control.state = words.byte();
    sender.control.timeouts = words.byte();
    sender.control.pending = words.byte();
    for word in 0..PRIVATE_WORDS {
        sender.control.private[word] = words.take();
    }
    for field in [
        &mut sender.window,
        &mut sender.credit,
        &mut sender.max_window,
        &mut sender.threshold,
        &mut sender.window_before,
        &mut sender.threshold_before,
        &mut sender.max_outstanding,
    ] {
        *field = words.narrow();
    }
    sender.window_limited = words.byte();
    sender.ecn_flags = words.byte();
    for field in [
        &mut sender.outstanding,
        &mut sender.retransmitted,
        &mut sender.lost,
        &mut sender.sacked,
        &mut sender.reordering,
        &mut sender.delivered,
        &mut sender.delivered_marked,
        &mut sender.losses,
        &mut sender.application_limited,
        &mut sender.retransmissions,
        &mut sender.smoothed_rtt_eighths,
        &mut sender.deviation_quarters,
        &mut sender.variation_quarters,
    ] {
        *field = words.narrow();
    }
    for sample in &mut sender.min_rtt_micros {
        *sample = [words.narrow(), words.narrow()];
    }
    sender.now_micros = words.take();
    for field in [
        &mut sender.oldest_unacked,
        &mut sender.next,
        &mut sender.expected,
        &mut sender.written_end,
        &mut sender.recovery_end,
        &mut sender.segment_bytes,
        &mut sender.peer_window,
    ] {
        *field = words.narrow();
    }
    let last_sent_jiffies = words.narrow();
    (sender.now_nanos, sender.last_sent_jiffies) =
        clock(jiffies, last_sent_jiffies, ticks_per_second);
    sender.acknowledged_bytes = words.take();
    for field in [
        &mut sender.segments_sent,
        &mut sender.data_segments_sent,
        &mut sender.timestamp,
        &mut sender.echoed_timestamp,
    ] {
        *field = words.narrow();
    }
    sender.timestamp_bits = u16::from(words.byte());
    sender.timestamp_bits |= u16::from(words.byte()) << 1;
    sender
}

/// The kernel's jiffies as the simulator's, which are milliseconds: now in nanoseconds, and another as many
/// microseconds ago as it was for the kernel.
fn clock(jiffies: u64, other: u32, ticks_per_second: u64) -> (u64, u32) {
    let millis = 1_000 / ticks_per_second;
    assert_eq!(millis * ticks_per_second, 1_000, "a tick has whole milliseconds");
    let low = |jiffies: u64| narrow(jiffies & u64::from(u32::MAX));
    let since = low(jiffies).wrapping_sub(other);
    let now = jiffies * millis;
    (now * 1_000_000, low(now).wrapping_sub(since.wrapping_mul(low(millis))))
}

#[test]
fn idle_time_matches_in_millisecond_ticks() {
    let (now, other) = clock(1 << 32 | 5, u32::MAX - 4, 250);
    assert_eq!(now, ((1 << 32) + 5) * 4_000_000);
    // Ten ticks of four milliseconds.
    assert_eq!(narrow(now / 1_000_000 % (1 << 32)).wrapping_sub(other), 40);
}
