//! What connections do beyond others that are joined by a relay: what arrives on the first is read as far as there
//! is room, and written on the second.
//!
//! Delivery latency is measured end to end: the first sender's writes count as written on every connection that passes
//! them on, a relay's own do not.

use super::Simulation;
use fairwind_measure::{FlowId, Observation};
use fairwind_tcp::Event;
use fairwind_units::Instant;

impl Simulation {
    /// Whether what arrives on connection `number` is passed on.
    #[inline]
    pub(super) fn is_relayed(&self, number: u32) -> bool {
        !self.is_plain && self.relays.onward(number).is_some()
    }

    /// Something happened to the receiving endpoint of connection `number`, which is passed on.
    #[cold]
    pub(super) fn pass_on(&mut self, number: u32, now: Instant) {
        let Some(onward) = self.relays.onward(number) else { return };
        loop {
            let has_read = self.read_for(onward, number, now);
            self.flush_receiver(number, now);
            // Asking an endpoint for segments opens its connection, and nobody has come yet.
            if self.waits_for_another(onward) {
                break;
            }
            self.flush_sender(onward, now);
            self.reschedule(onward, now);
            if !has_read {
                break;
            }
        }
        self.reschedule(number, now);
    }

    /// Something happened to the sending endpoint of connection `number`: where it is a relay's, there may be room again.
    #[cold]
    pub(super) fn refill(&mut self, number: u32, now: Instant) {
        if let Some(first) = self.relays.relayed(number) {
            self.pass_on(first, now);
        }
    }

    /// Reads on connection `number` as much as the relay on connection `onward` has room for.
    fn read_for(&mut self, onward: u32, number: u32, now: Instant) -> bool {
        let Some(relay) = self.flows[onward as usize].application.as_relay() else { return false };
        let room = u32::try_from(relay.room()).unwrap_or(u32::MAX);
        let first = &mut self.flows[number as usize];
        let read = first.receiver.read(now, room);
        if read > 0 {
            let end_offset =
                first.receiver.received_bytes() - u64::from(first.receiver.readable_bytes());
            if let Some(relay) = self.flows[onward as usize].application.as_relay() {
                relay.on_relayed(u64::from(read));
            }
            self.collector.observe(now, Observation::Read { flow: FlowId(number), end_offset });
        }
        self.end_with(number, onward, now);
        read > 0
    }

    /// Where all that the first sender wrote has been read, and its end has come, the relay ends, too.
    fn end_with(&mut self, number: u32, onward: u32, now: Instant) {
        let first = &mut self.flows[number as usize];
        if first.has_peer_finished && first.receiver.readable_bytes() == 0 {
            first.has_peer_finished = false;
            first.receiver.close();
            self.flows[onward as usize].application.end();
            self.collector.observe(now, Observation::Finished { flow: FlowId(number) });
        }
    }

    /// An event at the receiving endpoint of a connection that is passed on.
    #[cold]
    pub(super) fn on_relayed_event(&mut self, number: u32, event: Event, now: Instant) {
        let Some(onward) = self.relays.onward(number) else { return };
        match event {
            // Flushing opens the connection.
            Event::Established => self.flush_sender(onward, now),
            Event::PeerFinished => {
                self.flows[number as usize].has_peer_finished = true;
                self.end_with(number, onward, now);
                self.flush_receiver(number, now);
                self.flush_sender(onward, now);
            }
            Event::Reset | Event::TimedOut if !self.flows[number as usize].receiver_established => {
                return self.flows[number as usize].listen_again();
            }
            Event::Reset | Event::TimedOut => {
                let relay = &mut self.flows[onward as usize];
                relay.application.end();
                relay.sender.abort();
                self.flush_sender(onward, now);
            }
            _ => return,
        }
        self.reschedule(onward, now);
    }

    /// A relay's own connection was given up: so is the one that it relays.
    #[cold]
    pub(super) fn give_up_relayed(&mut self, number: u32, now: Instant) {
        let Some(first) = self.relays.relayed(number) else { return };
        self.flows[first as usize].receiver.abort();
        self.flush_receiver(first, now);
        self.reschedule(first, now);
    }

    /// Whether connection `number` is one that begins with another, which has not come.
    pub(super) fn waits_for_another(&self, number: u32) -> bool {
        let first = self.relays.relayed(number);
        first.is_some_and(|first| !self.flows[first as usize].receiver_established)
    }
}
