//! Receive-buffer autotuning (dynamic right-sizing), and the estimate of the peer's segment size
//! (`rcv_mss`).
//!
//! Source: Linux 6.18 `tcp_rcv_rtt_update`, `tcp_rcv_rtt_measure`, `tcp_rcv_rtt_measure_ts`,
//! `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`; `tcp_measure_rcv_mss`, `tcp_initialize_rcv_mss`.

use crate::receiver::Receiver;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, SequenceNumber, TCP_HEADER_BYTES};

/// Segments of the first window that tuning starts from (`TCP_INIT_CWND`).
const TUNING_SEGMENTS: u32 = 10;

/// Receiver-side round-trip estimate, and bytes read per round trip.
#[derive(Debug, Default)]
pub(crate) struct Tuning {
    /// Eight times the estimate, in microseconds (`rcv_rtt_est.rtt_us`).
    eightfold_rtt: u64,
    /// A window's worth of data ends here, which takes a round trip.
    measured_to: SequenceNumber,
    measured_since: Option<Instant>,
    last_echo: u32,
    /// Bytes read in the best round trip so far (`rcvq_space.space`).
    space: u32,
    read_from: SequenceNumber,
    read_since: Instant,
    /// When a segment last came or went (`tcp_mstamp`).
    clock: Instant,
}

impl Tuning {
    /// The receiver's round-trip estimate; zero before the first sample.
    pub(crate) fn rtt(&self) -> Span {
        Span::from_micros(self.eightfold_rtt / 8)
    }

    /// Takes a sample. A sample by window is an upper bound, so only a smaller one counts; another
    /// counts only while nothing is unread.
    fn take(&mut self, sample: Span, by_window: bool, drained: bool) {
        let micros = sample.as_micros().max(1);
        if self.eightfold_rtt == 0 || micros * 8 < self.eightfold_rtt {
            self.eightfold_rtt = micros * 8;
        } else if !by_window && drained {
            self.eightfold_rtt = self.eightfold_rtt - self.eightfold_rtt / 8 + micros;
        }
    }

    /// Begins tuning when the connection opens, with a window of this size.
    pub(crate) fn begin(
        &mut self,
        window: u32,
        announced_mss: u32,
        next: SequenceNumber,
        now: Instant,
    ) {
        self.space = window.min(TUNING_SEGMENTS * announced_mss);
        self.read_from = next;
        self.read_since = now;
        self.note_instant(now);
    }

    /// A segment comes or goes now.
    #[inline]
    pub(crate) fn note_instant(&mut self, now: Instant) {
        self.clock = now;
    }

    pub(crate) fn space(&self) -> u32 {
        self.space
    }

    /// Limits the bytes read per round trip after the window has shrunk.
    pub(crate) fn bound_space(&mut self, clamp: u32) {
        self.space = self.space.min(clamp);
    }
}

impl Receiver {
    /// Measures the time of one window of data.
    #[inline]
    pub(crate) fn measure_by_window(&mut self, now: Instant) {
        if let Some(since) = self.tuning.measured_since {
            if self.space.next.is_before(self.tuning.measured_to) {
                return;
            }
            self.tuning.take(now.saturating_since(since), true, false);
        }
        self.tuning.measured_to = self.space.next + self.last_announced_window();
        self.tuning.measured_since = Some(now);
    }

    /// Measures by the timestamp echo of a full-sized segment, once per echo.
    #[inline]
    pub(crate) fn measure_by_echo(&mut self, segment: &Segment, now: Instant) {
        let Some(stamps) = segment.options.timestamps.filter(|_| self.negotiated.has_timestamps())
        else {
            return;
        };
        if stamps.echo == self.tuning.last_echo {
            return;
        }
        self.tuning.last_echo = stamps.echo;
        if segment.sequence_length() < self.segment_size.estimate() {
            return;
        }
        let elapsed = crate::timers::timestamp_at(now).wrapping_sub(stamps.echo);
        if elapsed > 0 && elapsed < 1 << 20 {
            let sample = Span::from_millis(u64::from(elapsed));
            self.tuning.take(sample, false, self.space.unread == 0);
        }
    }

    /// After a read up to `read_to`, the end of the first packet read: compares with the bytes read
    /// before, once per round trip.
    #[inline]
    pub(crate) fn adjust_space(&mut self, read_to: SequenceNumber, now: Instant) {
        let tuning = &mut self.tuning;
        if !self.config.receiving.tunes_by_cached_clock {
            tuning.note_instant(now);
        }
        let micros = tuning.clock.saturating_since(tuning.read_since).as_micros();
        if tuning.eightfold_rtt == 0 || micros < tuning.eightfold_rtt / 8 {
            return;
        }
        let unread = self.space.next.distance_from(read_to);
        let read = read_to.distance_from(tuning.read_from).saturating_sub(unread);
        tuning.read_from = read_to;
        tuning.read_since = tuning.clock;
        if read > tuning.space {
            self.grow_buffer(read);
        }
    }

    /// Gives the buffer room for the data of the next round trip, if the peer doubles its rate.
    pub(crate) fn grow_buffer(&mut self, space: u32) {
        self.steady_window = None;
        let before = std::mem::replace(&mut self.tuning.space, space);
        let receiving = &self.config.receiving;
        if !receiving.tuning || receiving.buffer_is_set || !self.counts_memory() || before == 0 {
            return;
        }
        let twice = u64::from(space) * 2;
        let grown = twice * u64::from(space.saturating_sub(before)) / u64::from(before);
        let ahead =
            self.reassembly.end().map_or(0, |end| u64::from(end.distance_from(self.space.next)));
        let memory = self.buffer.space_from_window(twice + 2 * grown + ahead);
        self.buffer.raise_limit(memory.min(receiving.max_buffer));
    }
}

/// Default before the first segment (`TCP_MSS_DEFAULT`).
const ASSUMED: u32 = 536;
/// Minimum (`TCP_MIN_MSS`).
const MIN: u32 = 88;

/// An estimate of the peer's segment size.
#[derive(Debug)]
pub(crate) struct SegmentSize {
    /// The estimate in bytes of payload (`rcv_mss`).
    estimate: u32,
    /// Size of the segment before, where it may have been full-sized though smaller.
    last: u32,
}

/// Size of a segment relative to the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeClass {
    /// Another full size than was assumed.
    NewFull,
    /// As full as was assumed.
    Full,
    /// Less than full-sized.
    Small,
    /// The same smaller size twice in a row: it is the peer's full size now.
    Shrunk,
}

/// First estimate for segments of at most `largest` bytes and a window of `window` bytes.
pub(crate) fn first_segment_size(largest: u32, window: u32) -> u32 {
    largest.min(window / 2).clamp(MIN, ASSUMED)
}

impl SegmentSize {
    pub(crate) fn new() -> Self {
        Self { estimate: ASSUMED, last: 0 }
    }

    pub(crate) fn estimate(&self) -> u32 {
        self.estimate
    }

    /// Restarts when the peer's SYN is known.
    pub(crate) fn begin(&mut self, largest: u32, window: u32) {
        *self = Self { estimate: first_segment_size(largest, window), last: 0 };
    }

    /// Updates the estimate from a segment with payload (or FIN) that was merged from ones of at most
    /// `merged_from` bytes; `own_mss` limits the estimate.
    #[inline]
    pub(crate) fn on_segment(
        &mut self,
        segment: &Segment,
        merged_from: Option<u32>,
        own_mss: u32,
        steady: u32,
    ) -> SizeClass {
        let length = merged_from.unwrap_or(u32::MAX).min(segment.payload_bytes);
        let last = std::mem::take(&mut self.last);
        if length >= self.estimate {
            let size_class =
                if length == self.estimate { SizeClass::Full } else { SizeClass::NewFull };
            self.estimate = length.min(own_mss);
            return size_class;
        }
        self.on_small(segment, last, steady)
    }

    /// A smaller segment may still be full-sized: SACK blocks vary, and small links exist. `steady`
    /// is the header of every segment.
    #[inline]
    fn on_small(&mut self, segment: &Segment, last: u32, steady: u32) -> SizeClass {
        let with_header = segment.payload_bytes + segment.header_bytes();
        let unmarked = !segment.flags.intersects(Flags::FIN | Flags::URG | Flags::SYN | Flags::PSH);
        let likely_full = with_header >= ASSUMED + TCP_HEADER_BYTES
            || unmarked && with_header >= MIN + TCP_HEADER_BYTES;
        if likely_full {
            let size = with_header - steady;
            self.last = size;
            if size == last {
                self.estimate = size;
                return SizeClass::Shrunk;
            }
        }
        SizeClass::Small
    }
}
