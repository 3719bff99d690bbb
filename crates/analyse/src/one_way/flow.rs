//! One-way flow: one direction of one connection between two taps.

use super::clock_offset::signed_since;
use super::context::{Arrival, Departure, FlowContext};
use super::control::{ControlFlight, ControlMatch};
use super::counts::{FirstArrivals, OneWayCounts, QueryKind};
use super::delivery::{ArrivedRange, BASE, Delivery, SendTimes, StreamOffsets};
use super::flight::{ArrivalMatch, Departing, Flight};
use super::samples::{Layers, Sample, SampleLog, Spill};
use super::transmission::{Attempt, MatchedPiece, TransmissionMark};
use fairwind_capture::Packet;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, SequenceNumber};
use std::collections::VecDeque;

mod losses;

/// Limit of arrivals that wait for their departure.
const EARLY: usize = 1024;
/// Time within which the receiver's capture shows acknowledged packets.
const CAPTURE_DISORDER: Span = Span::from_millis(100);

/// One direction.
#[derive(Debug, Clone, Default)]
pub(super) struct OneWayFlow {
    offsets: StreamOffsets,
    flight: Flight,
    control: ControlFlight,
    delivery: Delivery,
    pub(super) counts: OneWayCounts,
    pub(super) first: FirstArrivals,
    pub(super) log: SampleLog,
    early: VecDeque<(Instant, Packet)>,
    /// Arrivals that look like copies; their departure may follow in the same instant.
    tied: Vec<(Instant, Packet)>,
    /// Largest payload of an arrival.
    segment_bytes: u32,
    /// Largest payload of an arrival that was a part of a departure.
    part_bytes: u32,
    /// Longest delay so far, in nanoseconds.
    slowest: i64,
    /// Offset that was acknowledged before its arrival was seen, and when.
    unseen_ack: Option<(u64, Instant)>,
    /// Whether payload was seen before counting began.
    had_payload: bool,
}

impl OneWayFlow {
    /// Whether payload was seen.
    pub(super) const fn has_payload(&self) -> bool {
        self.had_payload || self.counts.data_packets_sent + self.counts.data_packets_received > 0
    }

    /// Discards the counts. The smallest delays so far stay known.
    pub(super) fn reset_counts(&mut self, spill: &mut Spill) {
        self.had_payload = self.has_payload();
        self.counts = OneWayCounts::default();
        self.first = FirstArrivals::default();
        self.log.keep_minima(spill);
    }

    /// Packets that are remembered.
    pub(super) fn len(&self) -> usize {
        self.flight.len() + self.control.len()
    }

    #[inline]
    pub(super) fn on_departure(
        &mut self,
        at: Instant,
        packet: &Packet,
        context: &mut FlowContext<'_>,
    ) -> Departure {
        let segment = &packet.segment;
        let first_payload = segment.sequence + u32::from(segment.flags.contains(Flags::SYN));
        let start = self.offsets.offset_of(first_payload);
        let has_length = segment.sequence_length() > 0;
        let (counts, tap) = (at >= context.counted_from, context.tap);
        let ticket =
            if has_length && counts { context.group().rows[tap].on_departure() } else { 0 };
        self.counts.packets_sent += 1;
        self.counts.wire_bytes_sent += u64::from(packet.wire_bytes);
        self.counts.ack_packets_sent += u64::from(segment.payload_bytes == 0);
        let mut departure = Departure::default();
        let mut old_bytes = 0;
        if segment.payload_bytes == 0 {
            self.control.on_departure(at, ticket, context.group_index(), packet);
        } else {
            let end = start + u64::from(segment.payload_bytes);
            let before = self.flight.highest;
            let mark = TransmissionMark::of(packet);
            let wire_bytes = packet.wire_bytes;
            let (old, copy) =
                self.flight.on_departure(Departing { at, start, end, mark, wire_bytes, ticket });
            if end > before {
                self.offsets.advance(first_payload + segment.payload_bytes, end);
                departure.new_end = Some(end.saturating_sub(BASE));
            }
            self.count_data_departure(segment.payload_bytes, old, copy);
            old_bytes = old;
        }
        let origin = context.origin;
        for series in context.group().loss_series.iter_mut().filter(|_| counts) {
            let window = series.at(origin, at, QueryKind::Departure);
            window.packets_sent += 1;
            window.bytes_sent += u64::from(segment.payload_bytes);
            window.old_bytes_sent += u64::from(old_bytes);
        }
        if !self.early.is_empty() || !self.tied.is_empty() {
            departure.in_order_end = self.arrive_early(context);
            departure.in_order_end = self.match_tied(at, context).or(departure.in_order_end);
        }
        departure
    }

    #[inline]
    fn count_data_departure(&mut self, payload_bytes: u32, old_bytes: u32, copy: Attempt) {
        self.counts.data_packets_sent += 1;
        self.counts.payload_bytes_sent += u64::from(payload_bytes);
        if old_bytes > 0 {
            self.counts.redundant_bytes_sent += u64::from(old_bytes);
            if copy == Attempt::First {
                self.counts.bundles_sent += 1;
                self.counts.bundled_bytes_sent += u64::from(old_bytes);
            }
        }
    }

    /// Matches arrivals that waited for the departure just seen.
    #[cold]
    fn arrive_early(&mut self, context: &mut FlowContext<'_>) -> Option<u64> {
        let mut in_order_end = None;
        while let Some((at, packet)) = self.early.pop_front() {
            let mut arrival = Arrival::default();
            if !self.match_arrival(at, &packet, context, &mut arrival) {
                self.early.push_front((at, packet));
                break;
            }
            in_order_end = arrival.in_order_end.or(in_order_end);
        }
        in_order_end
    }

    #[inline]
    pub(super) fn on_arrival(
        &mut self,
        at: Instant,
        packet: &Packet,
        context: &mut FlowContext<'_>,
    ) -> Arrival {
        self.counts.packets_received += 1;
        if packet.segment.payload_bytes > 0 {
            self.counts.data_packets_received += 1;
            self.counts.payload_bytes_received += u64::from(packet.segment.payload_bytes);
        }
        if self.unseen_ack.is_some() {
            self.check_unseen_ack(at, context);
        }
        let mut arrival = Arrival::default();
        let in_order_end = if self.tied.is_empty() { None } else { self.expire_tied(at, context) };
        if self.match_arrival(at, packet, context, &mut arrival) {
            arrival.in_order_end = arrival.in_order_end.or(in_order_end);
            return arrival;
        }
        if self.early.len() < EARLY {
            self.early.push_back((at, *packet));
            return arrival;
        }
        self.unmatched(at, packet, context)
    }

    /// Matches an arrival; `false` if its departure was not seen yet.
    #[inline]
    fn match_arrival(
        &mut self,
        at: Instant,
        packet: &Packet,
        context: &mut FlowContext<'_>,
        arrival: &mut Arrival,
    ) -> bool {
        let segment = &packet.segment;
        let is_syn = segment.flags.contains(Flags::SYN);
        let start = self.offsets.offset_of(segment.sequence + u32::from(is_syn));
        if is_syn {
            self.delivery.begin(start);
        }
        if segment.payload_bytes == 0 {
            return self.match_control(at, packet, context, arrival);
        }
        let end = start + u64::from(segment.payload_bytes);
        let before = self.delivery.in_order_to();
        let found = self.flight.on_arrival(
            at,
            (start, end),
            TransmissionMark::of(packet),
            &mut context.scratch.pieces,
        );
        match found {
            ArrivalMatch::Oldest(departed) => {
                self.segment_bytes = self.segment_bytes.max(segment.payload_bytes);
                self.delivery.begin(start);
                self.on_new_bytes(at, departed, (start, end), context);
                arrival.delay = Some(signed_since(at, departed));
            }
            ArrivalMatch::Pieces => {
                self.segment_bytes = self.segment_bytes.max(segment.payload_bytes);
                self.delivery.begin(start);
                let (delay, repeat) = self.on_pieces(at, (start, end), context);
                (arrival.delay, arrival.repeat) = (Some(delay), repeat);
            }
            ArrivalMatch::Early => return false,
            ArrivalMatch::Nothing => {
                *arrival = self.hold_tied(at, packet, context);
                return true;
            }
        }
        let in_order_to = self.delivery.in_order_to();
        if in_order_to > before {
            arrival.in_order_start = before.saturating_sub(BASE);
            arrival.in_order_end = Some(in_order_to.saturating_sub(BASE));
        }
        true
    }

    fn match_control(
        &mut self,
        at: Instant,
        packet: &Packet,
        context: &mut FlowContext<'_>,
        arrival: &mut Arrival,
    ) -> bool {
        match self.control.on_arrival(packet) {
            ControlMatch::Early => return false,
            ControlMatch::Nothing => *arrival = self.hold_tied(at, packet, context),
            ControlMatch::Departed(departed) => {
                let delay = signed_since(at, departed);
                self.slowest = self.slowest.max(delay);
                context.floors[context.tap].observe(departed, delay);
                arrival.delay = Some(delay);
            }
        }
        true
    }

    /// Takes an arrival that is composed of parts of departures.
    fn on_pieces(
        &mut self,
        at: Instant,
        (start, end): (u64, u64),
        context: &mut FlowContext<'_>,
    ) -> (i64, u8) {
        let pieces = std::mem::take(&mut context.scratch.pieces);
        let mut matched = 0;
        for piece in &pieces {
            matched += piece.end - piece.start;
            self.on_piece(at, piece, context);
        }
        let rest = (end - start).saturating_sub(matched);
        if rest > 0 {
            let new = self.deliver_unsent(at, (start, end), context);
            self.counts.payload_bytes_departure_unseen += new;
            self.counts.payload_bytes_duplicated += rest.saturating_sub(new);
        }
        self.counts.packets_merged += u64::from(pieces.len() > 1);
        if let [piece] = pieces.as_slice()
            && piece.end - piece.start < piece.of.payload_bytes()
        {
            let part = u32::try_from(piece.end - piece.start).unwrap_or(u32::MAX);
            self.part_bytes = self.part_bytes.max(part);
            self.counts.packets_cut += u64::from(piece.of.is_untouched());
        }
        let lost_packets = pieces.first().map_or((0, 0), |piece| {
            let repeat = if let Attempt::Again(repeat) = piece.of.copy { repeat } else { 0 };
            (signed_since(at, piece.of.at), repeat)
        });
        context.scratch.pieces = pieces;
        lost_packets
    }

    /// Takes new bytes that arrived as they departed.
    #[inline]
    fn on_new_bytes(
        &mut self,
        at: Instant,
        departed: Instant,
        (start, end): (u64, u64),
        context: &mut FlowContext<'_>,
    ) {
        let delay = self.count_range(at, departed, end - start, context);
        if self.delivery.extend(start, end) {
            self.first.count(Attempt::First, true, end - start);
            self.record_undelayed(departed, delay, end - start, Layers::ALL, context.spill);
            return;
        }
        self.hold_out_of_order(at, departed, (start, end), context);
    }

    /// Takes new bytes behind a gap, or before held ranges.
    fn hold_out_of_order(
        &mut self,
        at: Instant,
        departed: Instant,
        (start, end): (u64, u64),
        context: &mut FlowContext<'_>,
    ) {
        let sent = Some(SendTimes { first: departed, copy: departed, shows_network: true });
        if self.delivery.is_behind_all(start) {
            self.first.count(Attempt::First, true, end - start);
            self.delivery.add(ArrivedRange { start, end, at, sent });
            if self.delivery.is_full() {
                self.deliver_in_order(at, context);
            }
        } else {
            // Some of these bytes arrived before, without a departure.
            let mut parts = std::mem::take(&mut context.scratch.parts);
            self.delivery.new_parts(start, end, &mut parts);
            for &(start, end) in &parts {
                self.first.count(Attempt::First, true, end - start);
                self.delivery.add(ArrivedRange { start, end, at, sent });
            }
            context.scratch.parts = parts;
            self.deliver_in_order(at, context);
        }
    }

    /// Counts a range that arrived; returns its delay.
    #[inline]
    fn count_range(
        &mut self,
        at: Instant,
        departed: Instant,
        bytes: u64,
        context: &mut FlowContext<'_>,
    ) -> i64 {
        let delay = signed_since(at, departed);
        self.slowest = self.slowest.max(delay);
        context.floors[context.tap].observe(departed, delay);
        self.counts.ranges_received += 1;
        self.counts.payload_bytes_matched += bytes;
        if departed < context.counted_from {
            return delay;
        }
        let origin = context.origin;
        for series in &mut context.group().loss_series {
            series.at(origin, departed, QueryKind::Outcome).ranges_sent += 1;
        }
        delay
    }

    /// Takes a part of a transmission.
    fn on_piece(&mut self, at: Instant, piece: &MatchedPiece, context: &mut FlowContext<'_>) {
        let MatchedPiece { start, end, of, .. } = *piece;
        let delay = self.count_range(at, of.at, end - start, context);
        let is_new = of.copy == Attempt::First && start >= of.new_from();
        if is_new && self.delivery.extend(start, end) {
            self.first.count(of.copy, true, end - start);
            self.record_undelayed(of.at, delay, end - start, Layers::ALL, context.spill);
            return;
        }
        self.on_out_of_order_piece(at, piece, context);
    }

    /// Takes a part that is old, lies behind a gap, or fills one.
    fn on_out_of_order_piece(
        &mut self,
        at: Instant,
        piece: &MatchedPiece,
        context: &mut FlowContext<'_>,
    ) {
        let MatchedPiece { start, end, of, .. } = *piece;
        let mut parts = std::mem::take(&mut context.scratch.parts);
        self.delivery.new_parts(start, end, &mut parts);
        let is_one = parts.first() == Some(&(start, end))
            && (of.copy == Attempt::First && start >= of.new_from()
                || self.flight.first_sent(start).is_some_and(|(_, to)| to >= end));
        if !is_one {
            let (delay, layers) = (signed_since(at, of.at), Layers::NETWORK);
            self.record_undelayed(of.at, delay, end - start, layers, context.spill);
        }
        let mut old_hit = 0;
        for &(from, to) in &parts {
            let mut cursor = from;
            while cursor < to {
                let is_new = of.copy == Attempt::First && cursor >= of.new_from();
                let (first, part_end) = if is_new {
                    (of.at, to)
                } else {
                    let limit = if of.copy == Attempt::First { to.min(of.new_from()) } else { to };
                    let (first, known_to) =
                        self.flight.first_sent(cursor).unwrap_or((of.at, limit));
                    (first, known_to.min(limit))
                };
                let part_end = part_end.max(cursor + 1);
                self.first.count(of.copy, is_new, part_end - cursor);
                old_hit += if is_new { 0 } else { part_end - cursor };
                let sent = Some(SendTimes { first, copy: of.at, shows_network: is_one });
                self.delivery.add(ArrivedRange { start: cursor, end: part_end, at, sent });
                cursor = part_end;
            }
        }
        context.scratch.parts = parts;
        if of.is_bundle() && start < of.new_from() {
            self.count_bundle(piece, old_hit);
        }
        self.deliver_in_order(at, context);
    }

    fn count_bundle(&mut self, piece: &MatchedPiece, hit: u64) {
        let old = piece.end.min(piece.of.new_from()) - piece.start;
        self.counts.bundled_bytes_hit += hit;
        self.counts.bundled_bytes_missed += old.saturating_sub(hit);
        if piece.start == piece.of.start {
            self.counts.bundle_hits += u64::from(hit > 0);
            self.counts.bundle_misses += u64::from(hit == 0);
        }
    }

    /// Hands over the data that is now in order.
    fn deliver_in_order(&mut self, at: Instant, context: &mut FlowContext<'_>) {
        while let Some(next) = self.delivery.next_in_order() {
            let layers = Layers::TRANSPORT.with(Layers::APPLICATION);
            self.record_arrived(&next, at.saturating_since(next.at), layers, context.spill);
        }
    }

    /// Records the network delay of bytes that were neither repaired nor held back.
    #[inline]
    fn record_undelayed(
        &mut self,
        departed: Instant,
        delay: i64,
        bytes: u64,
        layers: Layers,
        spill: &mut Spill,
    ) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.log.record(&Sample { departed, delay, repair: 0, wait: 0, bytes, layers }, spill);
    }

    fn record_arrived(
        &mut self,
        part: &ArrivedRange,
        wait: Span,
        layers: Layers,
        spill: &mut Spill,
    ) {
        let Some(sent) = part.sent else { return };
        let sample = Sample {
            departed: sent.copy,
            delay: signed_since(part.at, sent.copy),
            repair: sent.copy.saturating_since(sent.first).as_nanos(),
            wait: wait.as_nanos(),
            bytes: u32::try_from(part.end - part.start).unwrap_or(u32::MAX),
            layers: if sent.shows_network { layers.with(Layers::NETWORK) } else { layers },
        };
        self.log.record(&sample, spill);
    }

    /// Takes bytes without a departure; returns how many are new.
    fn deliver_unsent(
        &mut self,
        at: Instant,
        (start, end): (u64, u64),
        context: &mut FlowContext<'_>,
    ) -> u64 {
        let mut parts = std::mem::take(&mut context.scratch.parts);
        self.delivery.begin(start);
        self.delivery.new_parts(start, end, &mut parts);
        let new = parts.iter().map(|(from, to)| to - from).sum();
        for &(start, end) in &parts {
            self.delivery.add(ArrivedRange { start, end, at, sent: None });
        }
        context.scratch.parts = parts;
        self.deliver_in_order(at, context);
        new
    }

    /// Takes an arrival without departure.
    fn unmatched(
        &mut self,
        at: Instant,
        packet: &Packet,
        context: &mut FlowContext<'_>,
    ) -> Arrival {
        let segment = &packet.segment;
        if segment.payload_bytes == 0 {
            self.counts.packets_departure_unseen += 1;
            return Arrival::default();
        }
        let first_payload = segment.sequence + u32::from(segment.flags.contains(Flags::SYN));
        let start = self.offsets.offset_of(first_payload);
        let end = start + u64::from(segment.payload_bytes);
        let before = self.delivery.in_order_to();
        let new = self.deliver_unsent(at, (start, end), context);
        self.counts.payload_bytes_departure_unseen += new;
        self.counts.payload_bytes_duplicated += (end - start).saturating_sub(new);
        self.counts.packets_departure_unseen += u64::from(new > 0);
        self.counts.packets_duplicated += u64::from(new == 0);
        if end > self.flight.highest && new > 0 {
            self.offsets.advance(first_payload + segment.payload_bytes, end);
        }
        let in_order_to = self.delivery.in_order_to();
        let in_order_end = (in_order_to > before).then(|| in_order_to.saturating_sub(BASE));
        Arrival { in_order_end, ..Arrival::default() }
    }

    /// Takes an acknowledgment of the receiver, also of data that its capture misses.
    #[inline]
    pub(super) fn acknowledged(
        &mut self,
        at: Instant,
        number: SequenceNumber,
        context: &mut FlowContext<'_>,
    ) {
        let Some(place) = self.offsets.known_offset(number) else { return };
        if place > self.delivery.in_order_to() && self.unseen_ack.is_none() {
            let place = place.min(self.flight.highest);
            if place > self.delivery.in_order_to() && self.delivery.has_begun() {
                self.unseen_ack = Some((place, at));
            }
        } else if self.unseen_ack.is_some() {
            self.check_unseen_ack(at, context);
        }
    }

    /// Checks data that was acknowledged before its arrival was seen: it has arrived by now, or the capture
    /// misses it.
    #[cold]
    fn check_unseen_ack(&mut self, at: Instant, context: &mut FlowContext<'_>) {
        let Some((place, since)) = self.unseen_ack else { return };
        if place <= self.delivery.in_order_to() {
            self.unseen_ack = None;
            return;
        }
        if at.saturating_since(since) < CAPTURE_DISORDER {
            return;
        }
        self.unseen_ack = None;
        // Earlier arrivals that wait for their departure have been seen.
        while self.early.front().is_some_and(|&(at, _)| at <= since) {
            let Some((at, packet)) = self.early.pop_front() else { break };
            self.unmatched(at, &packet, context);
        }
        let in_order_to = self.delivery.in_order_to();
        if place <= in_order_to {
            return;
        }
        let mut parts = std::mem::take(&mut context.scratch.parts);
        self.delivery.new_parts(in_order_to, place, &mut parts);
        for &(start, end) in &parts {
            self.flight.take_unseen(at, (start, end), &mut context.scratch.pieces);
            for piece in &context.scratch.pieces {
                self.counts.payload_bytes_unjudged += piece.end - piece.start;
                self.counts.ranges_unjudged += 1;
                self.counts.packets_unjudged +=
                    u64::from(piece.is_whole && piece.of.is_untouched());
            }
        }
        context.scratch.parts = parts;
        self.counts.payload_bytes_arrival_unseen += self.delivery.acknowledged(place);
        self.deliver_in_order(at, context);
    }
}
