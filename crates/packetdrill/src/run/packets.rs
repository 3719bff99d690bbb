//! Injection of packets, and waiting for expected ones.

use super::judge::{self, shown};
use super::runner::{Due, Kind, MetPacket, Runner};
use super::system::{Advance, Sent};
use crate::outcome::{Step, Stop};
use crate::script::{EventTime, Icmp, Packet};
use fairwind_units::{Instant, Span};

/// How long a packet of any time (`*`) is waited for.
const PATIENCE: Span = Span::from_secs(3600);

impl Runner<'_> {
    /// Hands a packet of the script to the connection that it is for.
    pub(super) fn inject(&mut self, packet: &Packet) -> Step<()> {
        let connection = self.system.connection_for(packet)?;
        self.collect_sent();
        let live = self.translations.entry(connection).or_default().to_live(packet);
        self.system.inject(connection, &live)
    }

    /// Hands over a message of the path.
    pub(super) fn inject_message(&mut self, message: &Icmp) -> Step<()> {
        let connection = self.system.connection_for_message()?;
        self.collect_sent();
        let live = self.translations.entry(connection).or_default().message_to_live(message);
        self.system.inject_message(connection, &live)
    }

    /// Takes what was sent up to now, so that numbers are known also where no packet is expected
    /// first.
    pub(super) fn collect_sent(&mut self) {
        while let Some(sent) = self.system.take_sent() {
            self.translations.entry(sent.connection).or_default().notice(&sent.packet);
            self.sent.push_back(sent);
        }
    }

    /// Waits for an expected packet and judges it.
    pub(super) fn expect(&mut self, expected: &Packet, time: EventTime) -> Step<MetPacket> {
        let due = self.timeline.due(time, Kind::Other, &self.settings);
        let due = due.map(|due| due.with_lag(self.system.lag()));
        let limit = due.map_or(self.system.now() + PATIENCE, |due| due.limit());
        let mut met: Option<MetPacket> = None;
        let mut payloads: Vec<u32> = Vec::new();
        loop {
            let met_bytes = payloads.iter().sum();
            let Some(sent) = self.next_sent(limit)? else {
                return Err(self.missing(met.as_ref(), due));
            };
            let seen = self.meet(expected, met_bytes, &sent, due)?;
            payloads.push(sent.packet.payload_bytes);
            let met = met.get_or_insert_with(|| MetPacket { due, at: sent.at, seen: Vec::new() });
            met.seen.push(seen);
            if met_bytes + sent.packet.payload_bytes >= expected.payload_bytes {
                break;
            }
        }
        if !judge::is_segmented_evenly(&payloads) {
            return Err(Stop::failed(format!(
                "the payload is not divided as segmentation divides it: {payloads:?} bytes"
            )));
        }
        met.ok_or_else(|| Stop::failed("no packet came"))
    }

    /// Judges one segment, of which `met_bytes` bytes of the expected packet lie before.
    fn meet(
        &mut self,
        expected: &Packet,
        met_bytes: u32,
        sent: &Sent,
        due: Option<Due>,
    ) -> Step<String> {
        let translation = self.translations.entry(sent.connection).or_default();
        translation.learn(expected, &sent.packet);
        let seen = translation.to_script(&sent.packet);
        let left = expected.payload_bytes - met_bytes;
        let divides = self.may_be_divided(expected, sent.packet.payload_bytes, left);
        let payload = if divides { sent.packet.payload_bytes } else { left };
        let wanted = judge::piece(expected, met_bytes, payload);
        let echo = self.options.echo;
        if let Some(difference) = judge::difference(&wanted, &seen, &self.settings, echo) {
            return Err(with_packet(Stop::failed(difference), seen));
        }
        match due.map(|due| self.timeline.judge(due, sent.at)) {
            Some(Err(stop)) => Err(with_packet(stop, seen)),
            _ => Ok(shown(seen)),
        }
    }

    /// Whether an expected packet, of which `left` bytes are still to come, may begin with a segment
    /// of `payload` bytes.
    fn may_be_divided(&self, expected: &Packet, payload: u32, left: u32) -> bool {
        let settings = &self.settings;
        !settings.strict_segments
            && (1..left).contains(&payload)
            && expected.payload_bytes > settings.unsegmented_bytes
    }

    /// The next packet sent, if one is by `limit`.
    fn next_sent(&mut self, limit: Instant) -> Step<Option<Sent>> {
        loop {
            self.collect_sent();
            if let Some(sent) = self.sent.pop_front() {
                return Ok(Some(sent));
            }
            if self.pass_some(limit)? == Advance::Settled {
                self.collect_sent();
                return Ok(self.sent.pop_front());
            }
        }
    }

    fn missing(&self, met: Option<&MetPacket>, due: Option<Due>) -> Stop {
        let until = due.map_or(self.system.now(), |due| due.limit());
        let until = crate::script::decimal(self.timeline.elapsed(until));
        Stop::failed(match met {
            Some(met) => format!("only a part came until {until} s\n{}", met.seen.join("\n")),
            None => format!("no packet came until {until} s"),
        })
    }
}

/// Adds the offending packet to a failure.
fn with_packet(stop: Stop, seen: Packet) -> Stop {
    match stop {
        Stop::Failed(message) => Stop::failed(format!("{message}\n{}", shown(seen))),
        other @ Stop::Unsupported(_) => other,
    }
}
