//! Translation between a script's sequence numbers, options and timestamps and those on the wire.
//!
//! A packet with SYN has the scripted initial sequence numbers, whatever those of the system are. All other
//! numbers are relative to them, so they begin with 1 after a SYN. Our timestamps are relative to the first one
//! that the script expects; the peer's are unchanged.

use crate::outcome::{Step, Stop};
use crate::script::{Direction, Icmp, Mark, Packet, TcpOption};
use fairwind_tcp::Ports;
use fairwind_wire::bytes::{append_options, read_options};
use fairwind_wire::{CounterOrder, Ecn, Flags, Segment, SequenceNumber, TrafficClass};
use std::collections::BTreeMap;

/// The first timestamp of a connection in a recording.
const FIRST_TIMESTAMP: u32 = 100;

/// The two number spaces of one connection.
#[derive(Debug, Default)]
pub(crate) struct Translation {
    /// The system's initial sequence number, once its SYN is seen.
    initial: Option<u32>,
    /// The scripted initial sequence number, once the SYN is expected.
    scripted_initial: Option<u32>,
    /// The peer's initial sequence number, which is that of the script, once its SYN is injected.
    peer_initial: Option<u32>,
    /// The first timestamp that was expected: in the script, and as it was.
    first_timestamp: Option<(u32, u32)>,
    /// Every timestamp that was expected since, from the script's to the system's.
    timestamps: BTreeMap<u32, u32>,
}

impl Translation {
    /// Learns the system's initial sequence number from one of its packets.
    pub(crate) fn on_sent(&mut self, live: &Packet) {
        if live.flags.contains(Flags::SYN) && self.initial.is_none() {
            self.initial = Some(live.sequence);
        }
    }

    /// Learns the script's initial numbers from an expected packet and the matching live one. Call
    /// it before [`to_script`](Self::to_script).
    pub(crate) fn learn(&mut self, expected: &Packet, live: &Packet) {
        let opens = live.flags.contains(Flags::SYN) && expected.flags.contains(Flags::SYN);
        if opens && self.scripted_initial.is_none() {
            self.scripted_initial = Some(expected.sequence);
        }
        if let (Some(live), Some(scripted)) = (timestamp(live), timestamp(expected)) {
            self.first_timestamp.get_or_insert((scripted, live));
            self.timestamps.insert(scripted, live);
        }
    }

    /// A packet of the system as a script that expects it may write it, which then counts from it:
    /// our numbers from 0, our timestamps from 100.
    pub(crate) fn adopt(&mut self, live: &Packet) -> Packet {
        self.on_sent(live);
        let begins = live.flags.contains(Flags::SYN) && self.scripted_initial.is_none();
        let stamps = self.first_timestamp.is_none();
        let mut expected = self.to_script(live);
        if begins {
            expected.sequence = 0;
        }
        if stamps && let Some(options) = &mut expected.options {
            for option in options {
                if let TcpOption::Timestamps { value, .. } = option {
                    *value = FIRST_TIMESTAMP;
                }
            }
        }
        self.learn(&expected, live);
        expected
    }

    /// Scripted base of our numbers, less the live one.
    fn own_offset(&self, flags: Flags) -> u32 {
        let scripted = if flags.contains(Flags::SYN) { self.scripted_initial } else { None };
        scripted.unwrap_or(0).wrapping_sub(self.initial.unwrap_or(0))
    }

    /// Scripted base of the peer's numbers, less the live one.
    fn peer_offset(&self, flags: Flags) -> u32 {
        let initial = if flags.contains(Flags::SYN) { None } else { self.peer_initial };
        initial.unwrap_or(0).wrapping_neg()
    }

    /// A packet of the system in the script's numbers.
    pub(crate) fn to_script(&self, live: &Packet) -> Packet {
        let peer = self.peer_offset(live.flags);
        let options = live.options.as_ref().map(|options| {
            options.iter().map(|option| self.option_to_script(option, peer)).collect()
        });
        let sequence = live.sequence.wrapping_add(self.own_offset(live.flags));
        let acknowledgment = live.acknowledgment.map(|number| number.wrapping_add(peer));
        Packet { sequence, acknowledgment, options, ..live.clone() }
    }

    fn option_to_script(&self, option: &TcpOption, peer: u32) -> TcpOption {
        match (option, self.first_timestamp) {
            (TcpOption::Sack(edges), _) => shifted(edges, peer),
            (&TcpOption::Timestamps { value, echo }, Some((scripted, first))) => {
                let value = value.wrapping_sub(first).wrapping_add(scripted);
                TcpOption::Timestamps { value, echo }
            }
            (other, _) => other.clone(),
        }
    }

    /// Translates an echoed timestamp of ours: the live value that the script expected with this
    /// number, else relative to the first one.
    fn echo_to_live(&self, scripted: u32) -> u32 {
        match (self.timestamps.get(&scripted), self.first_timestamp) {
            (Some(&live), _) => live,
            (None, Some((first, live))) if scripted != 0 => {
                scripted.wrapping_sub(first).wrapping_add(live)
            }
            _ => scripted,
        }
    }

    /// Learns the peer's initial sequence number from an injected packet. Call it before
    /// [`to_live`](Self::to_live).
    pub(crate) fn on_injected(&mut self, packet: &Packet) {
        if packet.flags.contains(Flags::SYN) {
            self.peer_initial.get_or_insert(packet.sequence);
        }
    }

    /// A packet of the script in live numbers.
    pub(crate) fn to_live(&self, packet: &Packet) -> Packet {
        let own = self.own_offset(packet.flags).wrapping_neg();
        let sequence = packet.sequence.wrapping_sub(self.peer_offset(packet.flags));
        let acknowledgment = packet.acknowledgment.map(|number| number.wrapping_add(own));
        let options = packet
            .options
            .as_ref()
            .map(|options| options.iter().map(|option| self.option_to_live(option, own)).collect());
        Packet { sequence, acknowledgment, options, ..packet.clone() }
    }

    fn option_to_live(&self, option: &TcpOption, own: u32) -> TcpOption {
        match option {
            TcpOption::Sack(edges) => shifted(edges, own),
            &TcpOption::Timestamps { value, echo } => {
                TcpOption::Timestamps { value, echo: self.echo_to_live(echo) }
            }
            other => other.clone(),
        }
    }

    /// Translates the quoted range of an ICMP message to live numbers.
    pub(crate) fn message_to_live(&self, message: &Icmp) -> Icmp {
        let own = self.own_offset(Flags::NONE).wrapping_neg();
        let quoted = message.quoted.map(|(first, bytes)| (first.wrapping_add(own), bytes));
        Icmp { quoted, ..message.clone() }
    }
}

/// SACK blocks with edges moved by `offset`.
fn shifted(edges: &[(u32, u32)], offset: u32) -> TcpOption {
    let moved =
        edges.iter().map(|(left, right)| (left.wrapping_add(offset), right.wrapping_add(offset)));
    TcpOption::Sack(moved.collect())
}

fn timestamp(packet: &Packet) -> Option<u32> {
    packet.options.iter().flatten().find_map(|option| match option {
        TcpOption::Timestamps { value, .. } => Some(*value),
        _ => None,
    })
}

impl Packet {
    /// A segment of the system, which has these options, as a packet with every field written.
    pub fn from_segment(segment: &Segment, options: Vec<TcpOption>) -> Self {
        let acknowledges = segment.flags.contains(Flags::ACK);
        let urgent = segment.flags.contains(Flags::URG);
        Self {
            direction: Direction::Out,
            mark: Some(match segment.traffic_class.ecn() {
                Ecn::NotEct => Mark::NotCapable,
                Ecn::Ect0 => Mark::Capable0,
                Ecn::Ect1 => Mark::Capable1,
                Ecn::Ce => Mark::CongestionExperienced,
            }),
            traffic_class: Some(segment.traffic_class.octet()),
            flags: segment.flags,
            sequence: segment.sequence.get(),
            payload_bytes: segment.payload_bytes,
            acknowledgment: acknowledges.then(|| segment.acknowledgment.get()),
            window: Some(segment.window),
            urgent: urgent.then_some(segment.urgent),
            options: Some(options),
        }
    }

    /// The segment that this is from the peer's port to the system's, still without its options.
    pub fn to_segment(&self, source_port: u16, destination_port: u16) -> Segment {
        let octet = TrafficClass::new(self.traffic_class.unwrap_or(0));
        let traffic_class = self.mark.map_or(octet, |mark| {
            octet.with_ecn(match mark {
                Mark::NotCapable => Ecn::NotEct,
                Mark::Capable0 | Mark::Capable => Ecn::Ect0,
                Mark::Capable1 => Ecn::Ect1,
                Mark::CongestionExperienced => Ecn::Ce,
            })
        });
        Segment {
            source_port,
            destination_port,
            sequence: SequenceNumber::new(self.sequence),
            acknowledgment: SequenceNumber::new(self.acknowledgment.unwrap_or(0)),
            flags: self.flags,
            window: self.window.unwrap_or(0),
            urgent: self.urgent.unwrap_or(0),
            traffic_class,
            payload_bytes: self.payload_bytes,
            ..Segment::default()
        }
    }
}

/// A segment of our endpoint as a packet.
pub(super) fn to_packet(segment: &Segment) -> Packet {
    let mut header = Vec::new();
    append_options(&segment.options, &mut header);
    Packet::from_segment(segment, options_from_bytes(&header))
}

/// The segment that an injected packet is for our endpoint.
pub(super) fn to_segment(packet: &Packet, ports: Ports) -> Step<Segment> {
    if packet.window.is_none() {
        return Err(Stop::failed("an injected packet needs a window (`win N`)"));
    }
    let Some(options) = &packet.options else {
        return Err(Stop::failed("an injected packet cannot have just any options"));
    };
    let options = read_options(&options_to_bytes(options)?)
        .map_err(|error| Stop::failed(format!("the options of an injected packet: {error}")))?;
    Ok(Segment { options, ..packet.to_segment(ports.remote, ports.local) })
}

/// The number of the experiment that Fast Open was (RFC 7413 appendix A).
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xf9, 0x89];

/// Prefix of a signature option (RFC 2385).
const SIGNATURE: &str = "md5";

/// Whether an option is a signature by a key that no socket here has.
pub(super) fn is_signature(option: &TcpOption) -> bool {
    matches!(option, TcpOption::Other(text) if text.split(' ').next() == Some(SIGNATURE))
}

/// Options as header bytes, without padding at the end.
///
/// # Errors
/// If an option is unknown, or cannot be written.
pub fn options_to_bytes(options: &[TcpOption]) -> Step<Vec<u8>> {
    let mut bytes = Vec::new();
    for option in options {
        match option {
            TcpOption::End => bytes.push(0),
            TcpOption::NoOperation => bytes.push(1),
            _ => {
                let (kind, content) = content_of(option)?;
                let length = u8::try_from(2 + content.len()).unwrap_or(u8::MAX);
                bytes.extend_from_slice(&[kind, length]);
                bytes.extend_from_slice(&content);
            }
        }
    }
    Ok(bytes)
}

/// Kind and content of an option with a length.
fn content_of(option: &TcpOption) -> Step<(u8, Vec<u8>)> {
    let cookie = |text: &str| {
        from_digits(text)
            .ok_or_else(|| Stop::failed(format!("`{option}` has no whole number of bytes")))
    };
    Ok(match option {
        TcpOption::MaximumSegment(size) => (2, size.to_be_bytes().to_vec()),
        TcpOption::WindowScale(shift) => (3, vec![*shift]),
        TcpOption::SackPermitted => (4, Vec::new()),
        TcpOption::Sack(edges) => {
            let edges = edges.iter().flat_map(|&(left, right)| [left, right]);
            (5, edges.flat_map(u32::to_be_bytes).collect())
        }
        TcpOption::Timestamps { value, echo } => {
            (8, [value.to_be_bytes(), echo.to_be_bytes()].concat())
        }
        TcpOption::FastOpen(text) => (34, cookie(text)?),
        TcpOption::FastOpenExperimental(text) => {
            (254, [&FAST_OPEN_EXPERIMENT[..], &cookie(text)?].concat())
        }
        TcpOption::AccurateEcn { order, counters } => {
            let kind = match order {
                CounterOrder::Ect0First => 172,
                CounterOrder::Ect1First => 174,
            };
            (kind, counters.iter().flat_map(|counter| low_three(*counter)).collect())
        }
        TcpOption::Other(text) if is_signature(option) => (19, digest_of(text)?),
        TcpOption::End | TcpOption::NoOperation | TcpOption::Other(_) => {
            return Err(Stop::unsupported(format!("the option `{option}` is not known here")));
        }
    })
}

/// A counter of accurate ECN: its lowest 24 bits.
fn low_three(counter: u32) -> [u8; 3] {
    let [_, high, middle, low] = counter.to_be_bytes();
    [high, middle, low]
}

/// The 16 bytes of a signature; missing leading bytes are zero.
fn digest_of(text: &str) -> Step<Vec<u8>> {
    let digest = from_digits(text.trim_start_matches(SIGNATURE).trim());
    let digest = digest
        .filter(|digest| digest.len() <= 16)
        .ok_or_else(|| Stop::failed(format!("`{text}` is no digest of up to 16 bytes")))?;
    let mut whole = vec![0; 16 - digest.len()];
    whole.extend(digest);
    Ok(whole)
}

fn from_digits(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Options in header order; padding after the end of the list is left out.
pub fn options_from_bytes(header: &[u8]) -> Vec<TcpOption> {
    let mut listed = Vec::new();
    let mut rest = header;
    while let Some((&kind, behind)) = rest.split_first() {
        match kind {
            0 => {
                listed.push(TcpOption::End);
                break;
            }
            1 => {
                listed.push(TcpOption::NoOperation);
                rest = behind;
            }
            _ => {
                let length = usize::from(behind.first().copied().unwrap_or(0));
                let (Some(content), true) = (rest.get(2..length), length >= 2) else { break };
                listed.push(option_from_bytes(kind, content));
                rest = &rest[length..];
            }
        }
    }
    listed
}

fn option_from_bytes(kind: u8, content: &[u8]) -> TcpOption {
    let words: Vec<u32> =
        content.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
    match (kind, content) {
        (2, &[high, low]) => TcpOption::MaximumSegment(u16::from_be_bytes([high, low])),
        (3, &[shift]) => TcpOption::WindowScale(shift),
        (4, []) => TcpOption::SackPermitted,
        (5, _) if content.len().is_multiple_of(8) => {
            TcpOption::Sack(words.as_chunks::<2>().0.iter().map(|[l, r]| (*l, *r)).collect())
        }
        (8, _) if content.len() == 8 => TcpOption::Timestamps { value: words[0], echo: words[1] },
        (172 | 174, _) if content.len().is_multiple_of(3) => {
            let order = if kind == 172 { CounterOrder::Ect0First } else { CounterOrder::Ect1First };
            TcpOption::AccurateEcn { order, counters: counters(content) }
        }
        (34, _) => TcpOption::FastOpen(digits(content)),
        (254, [0xf9, 0x89, cookie @ ..]) => TcpOption::FastOpenExperimental(digits(cookie)),
        _ => TcpOption::Other(format!("kind {kind} {}", digits(content))),
    }
}

fn digits(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn counters(content: &[u8]) -> Vec<u32> {
    content
        .as_chunks::<3>()
        .0
        .iter()
        .map(|[high, middle, low]| u32::from_be_bytes([0, *high, *middle, *low]))
        .collect()
}
