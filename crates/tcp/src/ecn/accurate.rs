//! Accurate ECN feedback (RFC 9768): the ACE field and the `AccECN` option, of both halves.
//!
//! Source: RFC 9768 §3; Linux 7.3 `tcp_ecn.h`, `__tcp_accecn_process`, `tcp_accecn_process_option`,
//! `tcp_options_fit_accecn`.
//! Differs: an acknowledgment becomes urgent when six marks are unreported, not at the ACK after it.
//! Cost: nothing without Accurate ECN; else a few additions per segment.

use super::option::{OptionRoom, OptionSeen};
use crate::config::{AccurateEcnOption, EcnConfig};
use fairwind_units::{Instant, Span};
use fairwind_wire::{AccurateEcn, CounterOrder, Counters, Ecn, Flags, Segment, SequenceNumber};

/// Initial value of the ACE field (RFC 9768 §3.2.1).
const FIRST_ACE: u32 = 5;
/// The ACE field counts modulo 8.
const ACE_MASK: u32 = 7;
/// Marks that wait to be reported until an acknowledgment becomes urgent (RFC 9768 §3.2.2.5.1).
const URGENT_MARKS: u32 = 6;
/// Fractional bits of the average of segments per acknowledgment, and its weight as a shift
/// (`PKTS_ACKED_PREC`, `PKTS_ACKED_WEIGHT`).
const AVERAGE_BITS: u32 = 6;
/// More segments per acknowledgment than this indicate ACK thinning on the path
/// (`ACK_COMP_THRESH`).
const THINNING_THRESHOLD: u32 = 4;
/// Bytes sent without an option until the peer's counters are ambiguous.
const LATEST_OPTION: u64 = (1 << 23) - 1;

/// Failures of Accurate ECN, by the bits of Linux (`TCP_ACCECN_*_FAIL_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Failures(u8);

impl Failures {
    /// Our ACE field does not arrive.
    pub(crate) const ACE_SENT: Self = Self(1);
    /// The peer's ACE field does not arrive.
    pub(crate) const ACE_RECEIVED: Self = Self(2);
    /// Our option does not arrive.
    pub(crate) const OPTION_SENT: Self = Self(4);
    /// The peer's option arrives zeroed, or too late.
    pub(crate) const OPTION_RECEIVED: Self = Self(8);

    pub(super) const fn has(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    fn add(&mut self, others: Self) {
        self.0 |= others.0;
    }
}

/// Bytes by codepoint: ECT(1), ECT(0), CE.
type BytesByMark = [u32; 3];

/// The place of a codepoint in [`BytesByMark`]; `None` for packets that are not ECT.
const fn place_of(mark: Ecn) -> Option<usize> {
    match mark {
        Ecn::NotEct => None,
        Ecn::Ect1 => Some(0),
        Ecn::Ect0 => Some(1),
        Ecn::Ce => Some(2),
    }
}

const CE_PLACE: usize = 2;

/// The ACE field of a segment: AE, CWR and ECE.
const fn ace(flags: Flags) -> u32 {
    (flags.contains(Flags::AE) as u32) << 2
        | (flags.contains(Flags::CWR) as u32) << 1
        | flags.contains(Flags::ECE) as u32
}

/// The flags that hold the three lowest bits of a number as the ACE field.
const fn ace_flags(number: u32) -> Flags {
    let ae = if number & 4 != 0 { Flags::AE.bits() } else { 0 };
    let cwr = if number & 2 != 0 { Flags::CWR.bits() } else { 0 };
    let ece = if number & 1 != 0 { Flags::ECE.bits() } else { 0 };
    Flags::from_bits(ae | cwr | ece)
}

/// Whether a SYN requests Accurate ECN: any ACE field except those of no ECN and of RFC 3168 (RFC
/// 9768 §3.1.2).
pub(super) const fn is_requested(syn: Flags) -> bool {
    !matches!(ace(syn), 0 | 3)
}

/// ACE field for the codepoint of a received SYN or SYN-ACK (RFC 9768 §3.1.1, table 2).
const fn reflection(mark: Ecn) -> Flags {
    ace_flags(match mark {
        Ecn::NotEct => 2,
        Ecn::Ect1 => 3,
        Ecn::Ect0 => 4,
        Ecn::Ce => 6,
    })
}

/// Codepoint at which our SYN or SYN-ACK arrived, from the ACE field (RFC 9768 §3.1.1, table 2, and
/// table 4).
const fn reflected(ace: u32) -> Ecn {
    match ace {
        2 => Ecn::NotEct,
        0 | 4 => Ecn::Ect0,
        6 => Ecn::Ce,
        _ => Ecn::Ect1,
    }
}

/// Whether the path may change one codepoint to the other: ECT to another ECT or to CE.
fn is_valid_change(sent: Ecn, arrived: Ecn) -> bool {
    sent == arrived || !matches!(sent, Ecn::NotEct | Ecn::Ce) && arrived != Ecn::NotEct
}

/// Data that an acknowledgment newly reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckedData {
    segments: u32,
    /// Payload bytes and selectively acknowledged ones, from the beginning.
    bytes_since_start: u64,
    /// Segments known as marked before.
    marked_before: u32,
    segment_bytes: u32,
    /// Bytes sent since the beginning.
    sent_bytes: u64,
    /// Delivered segments and bytes are exact: SACK is in use, or nothing is missing.
    is_exact: bool,
}

impl AckedData {
    /// `segments` with `segment_bytes` of payload each; of all delivered ones, `marked_before` are known as
    /// marked.
    pub(crate) fn new(segments: u32, segment_bytes: u32, marked_before: u32) -> Self {
        Self {
            segments,
            bytes_since_start: 0,
            marked_before,
            segment_bytes,
            sent_bytes: 0,
            is_exact: false,
        }
    }

    /// Bytes that were acknowledged, cumulatively or selectively, and sent since the beginning.
    pub(crate) fn with_bytes(self, acknowledged: u64, sent: u64) -> Self {
        Self { bytes_since_start: acknowledged, sent_bytes: sent, ..self }
    }

    /// Delivered segments and bytes are exact if SACK is in use, or nothing is missing.
    pub(crate) fn exact_if(self, is_exact: bool) -> Self {
        Self { is_exact, ..self }
    }
}

/// Marks that have arrived here.
#[derive(Debug, Default)]
struct ReceivedMarks {
    /// Segments with CE, with payload or without.
    marked: u32,
    /// CE marks that no ACE field has reported yet.
    unreported: u32,
    bytes: BytesByMark,
    /// Codepoint of the last segment.
    previous: Ecn,
    /// Fields that the next option needs in order to report all changes.
    min_fields: u8,
}

/// Marks that the peer reports.
#[derive(Debug, Default)]
struct DeliveredMarks {
    bytes: BytesByMark,
    /// Counter that the delivered bytes belong to, by the last option.
    estimate: Option<usize>,
    /// Segments per acknowledgment on average, shifted.
    segments_per_ack: u32,
    /// Delivered bytes at the last acknowledgment.
    bytes_before: u64,
}

#[derive(Debug, Default)]
pub(crate) struct AccurateFeedback {
    /// The codepoint of the peer's SYN or SYN-ACK.
    syn_received: Ecn,
    failures: Failures,
    seen: OptionSeen,
    received: ReceivedMarks,
    delivered: DeliveredMarks,
    /// The next acknowledgment reports the codepoint of the peer's SYN-ACK.
    reflects: bool,
    /// Number of mandatory options to send.
    demand: u8,
    /// Time of the last option.
    option_sent_at: Instant,
    /// The beacon interval since then is over (`tcp_accecn_option_beacon_check`).
    is_beacon_due: bool,
    /// Start of the D-SACK in the last segment, if it also had an option.
    reported_duplicate: Option<SequenceNumber>,
}

impl AccurateFeedback {
    getters! {
        /// Segments received with CE.
        received_marked: u32 = received.marked,
        received_bytes: BytesByMark = received.bytes,
        delivered_bytes: BytesByMark = delivered.bytes,
    }

    /// Number in Linux for the state of the peer's option.
    pub(crate) fn option_seen_number(&self) -> u32 {
        self.seen.number()
    }

    /// Linux' bits of the failures.
    pub(crate) fn failure_bits(&self) -> u32 {
        self.failures.0.into()
    }

    pub(crate) fn fail(&mut self, failures: Failures) {
        self.failures.add(failures);
    }

    /// The peer's SYN has arrived with this codepoint, perhaps again.
    pub(crate) fn on_syn(&mut self, syn: &Segment) {
        self.syn_received = syn.traffic_class.ecn();
        self.received.previous = self.syn_received;
        if ace(syn.flags) == 0 {
            self.fail(Failures::ACE_RECEIVED);
        }
    }

    /// The ACE field of a SYN-ACK.
    pub(crate) fn syn_ack_flags(&self) -> Flags {
        reflection(self.syn_received)
    }

    /// The peer's SYN-ACK agrees to Accurate ECN (`tcp_ecn_rcv_synack`); `is_new` for the first one.
    pub(crate) fn on_syn_ack(&mut self, config: &EcnConfig, answer: &Segment, sent: Ecn) {
        self.syn_received = answer.traffic_class.ecn();
        if self.note_option(answer) {
            self.demand = 2;
        }
        let number = ace(answer.flags);
        if self.syn_received == Ecn::Ce
            && (number == FIRST_ACE || self.is_valid_reflection(config, number, sent))
        {
            self.received.marked += 1;
            self.received.unreported += 1;
        }
    }

    /// Handles a SYN or SYN-ACK in an open connection: the acknowledgment reports its codepoint.
    pub(crate) fn on_repeated_syn(&mut self, syn: &Segment) {
        self.syn_received = syn.traffic_class.ecn();
        if self.note_option(syn) {
            self.demand = self.demand.max(1);
        }
        self.reflects = true;
    }

    /// Makes the next acknowledgment report the codepoint of the peer's SYN-ACK.
    pub(crate) fn reflect(&mut self) {
        self.reflects = true;
    }

    /// Checks an option until one with counters arrives. Returns whether it did.
    fn note_option(&mut self, segment: &Segment) -> bool {
        let Some(option) = &segment.options.accurate_ecn else { return false };
        if self.seen >= OptionSeen::Counters {
            return false;
        }
        self.seen = OptionSeen::first(option);
        if self.seen == OptionSeen::Zeroed {
            self.fail(Failures::OPTION_RECEIVED);
        }
        true
    }

    /// Whether the reported codepoint of our SYN or SYN-ACK is possible.
    fn is_valid_reflection(&mut self, config: &EcnConfig, number: u32, sent: Ecn) -> bool {
        if config.fallback && !is_valid_change(sent, reflected(number)) {
            self.fail(Failures::ACE_RECEIVED);
            return false;
        }
        true
    }

    /// The segment that ends a passive handshake (`tcp_accecn_third_ack`, `tcp_ecn_openreq_child`;
    /// RFC 9768 §3.2.2.1, table 4). Returns whether our SYN-ACK was marked.
    pub(crate) fn on_third_ack(&mut self, config: &EcnConfig, ack: &Segment, sent: Ecn) -> bool {
        self.note_option(ack);
        self.demand = 1;
        let number = ace(ack.flags);
        let has_blocks = !ack.options.sack.is_empty();
        match number {
            0 if !has_blocks => {
                self.fail(Failures::ACE_RECEIVED);
                self.fail(Failures::OPTION_RECEIVED);
                false
            }
            0 | 1 | 5 | 7 => false,
            _ => {
                ack.sequence_length() == 0
                    && !has_blocks
                    && self.is_valid_reflection(config, number, sent)
                    && reflected(number) == Ecn::Ce
            }
        }
    }

    /// Counts an arriving segment (`tcp_ecn_received_counters`). Returns whether the next
    /// acknowledgment does not wait, because the codepoint has changed or many marks wait.
    pub(crate) fn count_received(&mut self, segment: &Segment) -> bool {
        let mark = segment.traffic_class.ecn();
        let is_marked = mark == Ecn::Ce;
        let received = &mut self.received;
        if let Some(place) = place_of(mark) {
            received.marked = received.marked.wrapping_add(u32::from(is_marked));
            received.unreported += u32::from(is_marked);
            if segment.payload_bytes > 0 {
                let before = received.bytes[place];
                received.bytes[place] = before.wrapping_add(segment.payload_bytes);
                received.min_fields = received.min_fields.max(OptionRoom::fields_for(mark));
                // At least once per 2^22 bytes, because the 24 bits of the option would be
                // ambiguous otherwise.
                if (received.bytes[place] ^ before) >> 22 != 0 {
                    self.demand = self.demand.max(1);
                }
            }
        }
        let has_changed = received.previous != mark;
        if has_changed || is_marked {
            received.previous = mark;
            // Two, so that the second identifies the codepoint without ambiguity.
            self.demand = 2;
        }
        has_changed || received.unreported >= URGENT_MARKS
    }

    /// Handles a duplicate (`tcp_rcv_spurious_retrans`): one that was reported together with an
    /// option shows that the acknowledgment with the option was lost.
    pub(crate) fn on_duplicate(&mut self, segment: &Segment) {
        if self.reported_duplicate == Some(segment.sequence) {
            self.fail(Failures::OPTION_SENT);
        }
    }

    /// Whether segments are sent as ECT.
    pub(super) fn is_capable(&self) -> bool {
        !self.failures.has(Failures(Failures::ACE_SENT.0 | Failures::ACE_RECEIVED.0))
    }

    /// ACE field of an outgoing segment: the codepoint of the SYN-ACK, or the count of marks.
    pub(super) fn take_ace_flags(&mut self) -> Flags {
        if std::mem::take(&mut self.reflects) {
            return reflection(self.syn_received);
        }
        self.received.unreported = 0;
        ace_flags(self.received.marked.wrapping_add(FIRST_ACE))
    }

    /// Updates the beacon: a number of options per round trip (`tcp_ecn_option_beacon`).
    pub(crate) fn note_time(&mut self, config: &EcnConfig, rtt: Option<Span>, now: Instant) {
        let elapsed = now.saturating_since(self.option_sent_at);
        let due = elapsed * u64::from(config.option_beacon) >= rtt.unwrap_or(Span::ZERO);
        self.is_beacon_due = config.option_beacon > 0 && due;
    }

    /// Whether segments have the option at present.
    fn sends_option(&self, config: &EcnConfig) -> bool {
        let wanted = match config.option {
            AccurateEcnOption::Never => false,
            AccurateEcnOption::Required => self.demand > 0 || self.is_beacon_due,
            AccurateEcnOption::Complete | AccurateEcnOption::Always => true,
        };
        let passes =
            config.option == AccurateEcnOption::Always || !self.failures.has(Failures::OPTION_SENT);
        wanted && passes && self.seen != OptionSeen::NotSeen
    }

    /// Bytes that the option adds to a segment with `others` bytes of other options, including
    /// `blocks` SACK blocks.
    pub(crate) fn option_bytes(&self, config: &EcnConfig, others: u32, blocks: usize) -> u32 {
        let min = self.received.min_fields;
        let room = OptionRoom::beside_blocks(others, blocks);
        let fitting = self.sends_option(config).then(|| room.fit(min)).flatten();
        fitting.map_or(0, |fit| fit.bytes())
    }

    /// Adds the option to a segment, possibly in place of a SACK block; `duplicate` is the start of
    /// its D-SACK.
    pub(crate) fn add_option(
        &mut self,
        config: &EcnConfig,
        segment: &mut Segment,
        duplicate: Option<SequenceNumber>,
        now: Instant,
    ) {
        self.reported_duplicate = None;
        if !self.sends_option(config) {
            return;
        }
        let options = &mut segment.options;
        let room = OptionRoom::beside_blocks(options.wire_bytes(), options.sack.len());
        let Some(fit) = room.fit(self.received.min_fields) else { return };
        if fit.blocks() < options.sack.len() {
            options.sack = options.sack.as_slice()[..fit.blocks()].iter().copied().collect();
        }
        options.accurate_ecn = Some(option_with(fit.fields(), self.received.bytes));
        self.received.min_fields = 0;
        self.option_sent_at = now;
        self.is_beacon_due = false;
        self.demand = self.demand.saturating_sub(1);
        self.reported_duplicate = duplicate;
    }

    /// Processes the feedback of an acknowledgment (`__tcp_accecn_process`). Returns the number of
    /// newly marked segments.
    pub(crate) fn on_ack(&mut self, ack: &Segment, acked: &AckedData) -> u32 {
        let new_bytes = acked.bytes_since_start.saturating_sub(self.delivered.bytes_before);
        self.delivered.bytes_before = acked.bytes_since_start;
        let marked_bytes = self.delivered.bytes[CE_PLACE];
        let is_reliable = self.take_option(ack, new_bytes, acked.sent_bytes);
        self.delivered.average(acked.segments);
        let count = ace(ack.flags).wrapping_sub(FIRST_ACE);
        let delta = count.wrapping_sub(acked.marked_before) & ACE_MASK;
        if acked.segments <= ACE_MASK {
            return delta;
        }
        let safe = acked.segments - (acked.segments.wrapping_sub(delta) & ACE_MASK);
        if is_reliable {
            let marked = self.delivered.bytes[CE_PLACE].wrapping_sub(marked_bytes);
            marked_by_bytes(delta, safe, marked, new_bytes, acked)
        } else if self.delivered.segments_per_ack > THINNING_THRESHOLD << AVERAGE_BITS {
            delta
        } else {
            safe
        }
    }

    /// Records data of an acknowledgment without processing its feedback.
    pub(crate) fn skip_ack(&mut self, acked: &AckedData) {
        self.delivered.bytes_before = acked.bytes_since_start;
    }

    /// Processes an option, or extends the last estimate. Returns whether the byte counters are
    /// reliable.
    fn take_option(&mut self, ack: &Segment, new_bytes: u64, sent_bytes: u64) -> bool {
        if self.failures.has(Failures::OPTION_RECEIVED) {
            return false;
        }
        let Some(option) = &ack.options.accurate_ecn else {
            if self.seen == OptionSeen::NotSeen {
                if sent_bytes >= LATEST_OPTION {
                    self.seen = OptionSeen::Zeroed;
                    self.fail(Failures::OPTION_RECEIVED);
                }
                return false;
            }
            return self.delivered.extend_estimate(new_bytes);
        };
        self.note_option(ack);
        self.delivered.take_counters(option)
    }
}

impl DeliveredMarks {
    /// Updates the average of segments per acknowledgment.
    fn average(&mut self, segments: u32) {
        if segments == 0 {
            return;
        }
        let news = segments.saturating_mul(1 << AVERAGE_BITS);
        let average = match self.segments_per_ack {
            0 => news,
            old => (((old << AVERAGE_BITS) - old) + news) >> AVERAGE_BITS,
        };
        self.segments_per_ack = average.min(0xffff);
    }

    /// Without an option, new bytes count for the last estimate.
    fn extend_estimate(&mut self, new_bytes: u64) -> bool {
        let Some(place) = self.estimate else { return false };
        let bytes = u32::try_from(new_bytes & u64::from(u32::MAX)).unwrap_or(0);
        self.bytes[place] = self.bytes[place].wrapping_add(bytes);
        true
    }

    /// Takes in the counters of an option. Only one of them is expected to have grown.
    fn take_counters(&mut self, option: &AccurateEcn) -> bool {
        let before = self.estimate;
        let mut is_reliable = before.is_some();
        let (mut has_change, mut is_ambiguous) = (false, false);
        for (place, counter) in counters_in_order(option) {
            let delta = growth(counter, self.bytes[place]);
            self.bytes[place] = self.bytes[place].wrapping_add_signed(delta);
            if delta < 0 {
                is_ambiguous = true;
            }
            if delta != 0 && before != Some(place) {
                if has_change {
                    is_ambiguous = true;
                } else {
                    self.estimate = Some(place);
                    has_change = true;
                }
            }
        }
        if is_ambiguous {
            is_reliable = false;
            self.estimate = None;
        }
        is_reliable
    }
}

/// The counters of an option with their positions, less their initial values (RFC 9768 §3.2.1).
fn counters_in_order(option: &AccurateEcn) -> impl Iterator<Item = (usize, u32)> {
    let (ect0, ect1) = ((1, option.ect0(), 1), (0, option.ect1(), 1));
    let ce = (CE_PLACE, option.ce(), 0);
    let listed = match option.order() {
        CounterOrder::Ect0First => [ect0, ce, ect1],
        CounterOrder::Ect1First => [ect1, ce, ect0],
    };
    listed
        .into_iter()
        .filter_map(|(place, counter, first)| Some((place, counter?.wrapping_sub(first))))
}

/// Growth of a 24-bit counter beyond a known value; negative if it is older.
fn growth(counter: u32, known: u32) -> i32 {
    let low = (counter & 0xff_ffff).wrapping_sub(known) & 0xff_ffff;
    (low << 8).cast_signed() >> 8
}

/// Marked segments computed from marked bytes, between the minimum (`delta`) and the maximum (`safe`) that the
/// ACE field allows.
fn marked_by_bytes(delta: u32, safe: u32, marked: u32, bytes: u64, acked: &AckedData) -> u32 {
    if marked == 0 {
        return delta;
    }
    if acked.segments >= 2 * (ACE_MASK + 1) && acked.is_exact {
        if bytes <= u64::from(marked) {
            return safe;
        }
        let share = (u64::from(marked) * u64::from(acked.segments)).div_ceil(bytes);
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        return safe.min(delta.saturating_add(share & !ACE_MASK));
    }
    let bytes_of = |segments: u32| u64::from(segments) * u64::from(acked.segment_bytes);
    if u64::from(marked) > bytes_of(delta) {
        safe
    } else if u64::from(marked) < bytes_of(safe) / 2 {
        delta
    } else {
        safe
    }
}

/// An option with these bytes, in the order that Linux sends (kind 174).
fn option_with(fields: u8, bytes: BytesByMark) -> AccurateEcn {
    let [ect1, ect0, ce] = bytes;
    let counters = Counters { ect0: ect0.wrapping_add(1), ce, ect1: ect1.wrapping_add(1) };
    AccurateEcn::new(CounterOrder::Ect1First, fields, counters)
}

/// The option of a SYN-ACK with these other options, before any data.
pub(super) fn syn_ack_option(others: &fairwind_wire::Options) -> Option<AccurateEcn> {
    let fit = OptionRoom::of_syn_ack(others).fit(0)?;
    Some(option_with(fit.fields(), BytesByMark::default()))
}
