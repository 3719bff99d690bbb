//! Preview of two captures: the offset between their clocks, and at which tap packets depart.
//!
//! Captures may begin minutes apart, so that their first packets share nothing. Files are read in advance as
//! far as needed. What can be read only once, such as standard input, is read ahead a little.

use super::input::{ContinuousClock, Input};
use super::settings::{AddressTranslation, translate};
use super::source::{NextPacket, PacketSource};
use crate::one_way::ClockOffsetEstimator;
use fairwind_capture::Packet;

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
