//! Packets of one tap: continuous time, reading ahead, and the preview of two captures.
//!
//! With thousands of open connections, most time is spent waiting for memory. The input reads packets ahead and looks
//! up their connections all at once, so that the processor waits for many of them together.
//!
//! Timestamps (our own rule): one that is a day ahead of the last, or more than a second behind, means that the clock
//! was set, a record is damaged, or two captures are in one file. Nothing can be measured across it. The input counts
//! the step and treats it as if no time had passed; otherwise one damaged timestamp would make millions of empty windows.
//!
//! The preview finds the offset between the clocks of two captures, and at which tap packets depart. Captures may begin
//! minutes apart, so that their first packets share nothing. Files are read in advance as far as needed. What can be
//! read only once, such as standard input, is read ahead a little.

use super::follower::Follower;
use super::settings::{AddressTranslation, translate};
use super::source::{NextPacket, PacketSource};
use crate::connection::SlotHint;
use crate::one_way::{ClockOffset, ClockOffsetEstimator};
use fairwind_capture::{Location, NoteKind, Notes, Packet};
use fairwind_units::{Instant, Span};
use std::collections::VecDeque;

/// Packets that are read at once. Lines prefetched for the first must still be cached when the last is
/// handled.
const AT_ONCE: usize = 24;

/// A step of the clock, or a damaged record.
const CLOCK_STEP: NoteKind = NoteKind::new(
    "clock_steps",
    "a timestamp jumps ahead by a day or back by more than a second, so that time was not counted",
    "timestamp",
    "timestamps",
);

/// Data about a packet that was read ahead.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadAhead {
    /// Its instant, on the clock of the first input.
    pub(super) at: Instant,
    /// Slot of its connection when it was read.
    pub(super) hint: SlotHint,
}

/// A source and its packets that were read ahead.
#[derive(Debug)]
pub(super) struct Input<S> {
    pub(super) source: S,
    pub(super) clock: ContinuousClock,
    /// Buffers for [`AT_ONCE`] packets.
    packets: Vec<Packet>,
    ahead: Vec<ReadAhead>,
    /// Index of the next packet, and behind the last one.
    next: usize,
    end: usize,
    /// Whether the source has ended.
    pub(super) has_ended: bool,
    own_notes: Notes,
    /// Packets that the preview has read, with their locations.
    early: VecDeque<(Packet, Option<Location>)>,
    /// Offset of the input's clock against the first input's.
    pub(super) offset: Option<ClockOffset>,
    /// Translations of addresses to those at the first tap.
    pub(super) translations: Vec<AddressTranslation>,
}

impl<S: PacketSource> Input<S> {
    pub(super) fn new(source: S) -> Self {
        let nothing = ReadAhead { at: Instant::ZERO, hint: SlotHint::NONE };
        Self {
            source,
            clock: ContinuousClock::new(),
            packets: vec![Packet::EMPTY; AT_ONCE],
            ahead: vec![nothing; AT_ONCE],
            next: 0,
            end: 0,
            has_ended: false,
            own_notes: Notes::NONE,
            early: VecDeque::new(),
            offset: None,
            translations: Vec::new(),
        }
    }

    pub(super) fn notes(&self) -> Notes {
        let mut notes = self.source.notes();
        notes.merge(&self.own_notes);
        notes
    }

    #[cold]
    fn note_step(&mut self, place: Option<Location>) {
        if let Some(place) = place.or_else(|| self.source.place()) {
            self.own_notes.record(CLOCK_STEP, || place);
        }
    }

    /// Reads a packet for the preview; `None` if there is none now.
    pub(super) fn peek(&mut self) -> Option<&Packet> {
        let mut packet = Packet::EMPTY;
        if self.source.next(&mut packet) != NextPacket::Packet {
            return None;
        }
        translate(&mut packet, &self.translations);
        self.early.push_back((packet, self.source.place()));
        self.early.back().map(|(packet, _)| packet)
    }

    /// The next packet that was read ahead.
    #[inline]
    pub(super) fn next(&self) -> Option<(ReadAhead, &Packet)> {
        if self.next >= self.end {
            return None;
        }
        Some((*self.ahead.get(self.next)?, self.packets.get(self.next)?))
    }

    /// All packets that were read ahead, in order.
    #[inline]
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&ReadAhead, &Packet)> {
        let waiting = self.next..self.end;
        let ahead = self.ahead.get(waiting.clone()).unwrap_or_default();
        ahead.iter().zip(self.packets.get(waiting).unwrap_or_default())
    }

    /// Removes `packets` packets from the front.
    #[inline]
    pub(super) fn pass(&mut self, packets: u64) {
        self.next = self.next.saturating_add(usize::try_from(packets).unwrap_or(usize::MAX));
    }

    /// Refills the buffers; `false` if no packet can be read now.
    #[inline(never)]
    pub(super) fn read_ahead(&mut self) -> bool {
        (self.next, self.end) = (0, 0);
        while self.end < AT_ONCE {
            match self.read() {
                NextPacket::Packet => self.end += 1,
                NextPacket::Wait => return self.end > 0,
                NextPacket::End => {
                    self.has_ended = true;
                    return true;
                }
            }
            // A packet that is here does not wait for the next one.
            if !self.source.is_ready() {
                return true;
            }
        }
        true
    }

    /// Reads the next packet into the buffers, from the preview if it has one.
    #[inline]
    fn read(&mut self) -> NextPacket {
        let packet = &mut self.packets[self.end];
        let mut place = None;
        if let Some(early) = self.early.pop_front() {
            (*packet, place) = early;
        } else {
            let next = self.source.next(packet);
            if next != NextPacket::Packet {
                return next;
            }
            if !self.translations.is_empty() {
                translate(packet, &self.translations);
            }
        }
        let steps = self.clock.steps;
        let at = self.clock.at(packet.at);
        let at = self.offset.as_ref().map_or(at, |offset| offset.to_sender_clock(at));
        self.ahead[self.end] = ReadAhead { at, hint: SlotHint::NONE };
        if self.clock.steps != steps {
            self.note_step(place);
        }
        NextPacket::Packet
    }

    /// Looks up and prefetches the connections of the packets that were read ahead.
    #[inline(never)]
    pub(super) fn lookup(&mut self, follower: &mut Follower) {
        let (ahead, packets) = (&mut self.ahead[..self.end], &self.packets[..self.end]);
        for (ahead, packet) in ahead.iter_mut().zip(packets) {
            ahead.hint = follower.lookup(packet);
        }
        follower.prefetch(ahead.iter().map(|ahead| ahead.hint));
    }
}

/// A larger step ahead is a step of the clock.
const LONGEST_STEP: Span = Span::from_secs(86_400);
/// A larger step back is a step of the clock, not reordering.
const LONGEST_BACK: Span = Span::from_secs(1);

/// A clock without steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContinuousClock {
    /// The last timestamp.
    last: Instant,
    /// Corrections that are added to timestamps and subtracted from them.
    ahead: Span,
    behind: Span,
    has_begun: bool,
    /// Steps so far.
    pub(crate) steps: u64,
}

impl ContinuousClock {
    pub(crate) const fn new() -> Self {
        Self {
            // The first timestamp is a step that does not count.
            last: Instant::MAX,
            ahead: Span::ZERO,
            behind: Span::ZERO,
            has_begun: false,
            steps: 0,
        }
    }

    /// The instant of a timestamp.
    #[inline]
    pub(crate) fn at(&mut self, stamp: Instant) -> Instant {
        let is_plausible = stamp.saturating_since(self.last) <= LONGEST_STEP
            && self.last.saturating_since(stamp) <= LONGEST_BACK;
        if !is_plausible {
            self.step(stamp);
        }
        self.last = stamp;
        let moved = stamp + self.ahead;
        Instant::from_nanos(moved.as_nanos().saturating_sub(self.behind.as_nanos()))
    }

    #[cold]
    fn step(&mut self, stamp: Instant) {
        if !self.has_begun {
            self.has_begun = true;
            return;
        }
        self.steps += 1;
        // Only one of the two is above zero.
        let ahead = stamp.saturating_since(self.last);
        let back = self.last.saturating_since(stamp);
        let behind = self.behind + ahead;
        let ahead = self.ahead + back;
        self.behind = behind.saturating_sub(ahead);
        self.ahead = ahead.saturating_sub(behind);
    }
}

/// Packets of each input that are read ahead at most.
const MOST_AHEAD: u64 = 50_000;

/// A comparison of two captures, in progress.
#[derive(Debug)]
pub(super) struct Comparison<S> {
    pub(super) finder: ClockOffsetEstimator,
    /// Both captures from their beginnings, if both can be read again.
    previews: Option<[Preview<S>; 2]>,
}

impl<S: PacketSource> Comparison<S> {
    /// A comparison that has seen no packets.
    pub(super) fn of(first: &Input<S>, second: &Input<S>) -> Self {
        let preview =
            |input: &Input<S>| Some(Preview::new(input.source.reopen()?, &input.translations));
        let previews = preview(first).zip(preview(second)).map(|(first, second)| [first, second]);
        Self { finder: ClockOffsetEstimator::default(), previews }
    }

    /// Looks at up to `packets` packets of each input; returns whether it has seen enough.
    pub(super) fn advance(&mut self, inputs: &mut [Input<S>], packets: u64) -> bool {
        let [first, second] = inputs else { return true };
        if self.previews.is_none() {
            self.read_ahead(first, second);
            return true;
        }
        for _ in 0..packets {
            if self.finder.has_enough() || !self.preview() {
                self.previews = None;
                return true;
            }
        }
        false
    }

    /// Looks at one more packet of each capture; returns whether there was any.
    fn preview(&mut self) -> bool {
        let Some([first, second]) = &mut self.previews else { return false };
        let has_first = first.next().map(|packet| self.finder.on_sender_packet(packet)).is_some();
        let has_second =
            second.next().map(|packet| self.finder.on_receiver_packet(packet)).is_some();
        has_first || has_second
    }

    fn read_ahead(&mut self, first: &mut Input<S>, second: &mut Input<S>) {
        let mut clocks = [ContinuousClock::new(); 2];
        for _ in 0..MOST_AHEAD {
            let sent = first.peek().map(|packet| by(&mut clocks[0], packet));
            let came = second.peek().map(|packet| by(&mut clocks[1], packet));
            if let Some(packet) = &sent {
                self.finder.on_sender_packet(packet);
            }
            if let Some(packet) = &came {
                self.finder.on_receiver_packet(packet);
            }
            if self.finder.has_enough() || sent.is_none() && came.is_none() {
                return;
            }
        }
    }
}

/// The packet at its instant on the continuous clock.
fn by(clock: &mut ContinuousClock, packet: &Packet) -> Packet {
    Packet { at: clock.at(packet.at), ..*packet }
}

/// A capture that is read in advance.
#[derive(Debug)]
struct Preview<S> {
    source: S,
    clock: ContinuousClock,
    translations: Vec<AddressTranslation>,
    packet: Packet,
}

impl<S: PacketSource> Preview<S> {
    fn new(source: S, translations: &[AddressTranslation]) -> Self {
        let translations = translations.to_vec();
        Self { source, clock: ContinuousClock::new(), translations, packet: Packet::EMPTY }
    }

    fn next(&mut self) -> Option<&Packet> {
        if self.source.next(&mut self.packet) != NextPacket::Packet {
            return None;
        }
        self.packet.at = self.clock.at(self.packet.at);
        translate(&mut self.packet, &self.translations);
        Some(&self.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_ignores_jumps_and_keeps_small_disorder() {
        let mut clock = ContinuousClock::new();
        let day = 86_400;
        let stamps =
            [5 * day, 5 * day + 1, 9 * day, 9 * day + 2, 9 * day + 1, 3 * day, 3 * day + 1];
        let seconds: Vec<u64> = stamps
            .iter()
            .map(|&stamp| clock.at(Instant::from_secs(stamp)).as_nanos() / 1_000_000_000 - 5 * day)
            .collect();
        // A step of four days ahead and one of six days back; one second back is reordering.
        assert_eq!(seconds, [0, 1, 1, 3, 2, 2, 3]);
        assert_eq!(clock.steps, 2);
    }

    #[test]
    fn extreme_timestamps_are_accepted() {
        let mut clock = ContinuousClock::new();
        for stamp in [u64::MAX, 0, u64::MAX, 1, u64::MAX - 1] {
            clock.at(Instant::from_nanos(stamp));
        }
        assert!(clock.steps > 0);
    }
}
