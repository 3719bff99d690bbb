//! One endpoint, against a peer, a path and an application that do anything at any time.

use crate::packets::options_of;
use arbitrary::{Arbitrary, Result, Unstructured};
use fairwind_tcp::{
    BufferAccounting, Config, Connection, EcnFeedback, Factor, FastOpenPermit, FastOpenSyn,
    IcmpError, LossDetection, MtuProbing, Ports, Profile, RecoveryConstants, State, ThinRecovery,
    ThinStreams, Unreachable,
};
use fairwind_units::{Instant, Ratio, Span};
use fairwind_wire::{Cookie, FastOpen, FastOpenKind, Flags, Segment, SequenceNumber, TrafficClass};
use std::sync::Arc;

const PORTS: Ports = Ports { local: 80, remote: 40_000 };
/// The peer's first number.
const PEER: u32 = 0xffff_f000;
const OURS: SequenceNumber = SequenceNumber::new(0x7fff_ff00);
/// Nobody answers more than this to one input.
const MOST_SEGMENTS: usize = 100_000;
const MOST_STEPS: usize = 200;

/// Drives an endpoint as the bytes say.
///
/// # Panics
/// Where the endpoint does, breaks an invariant of its own (in builds with debug assertions), never
/// stops sending, or sends what no segment can be.
pub fn endpoint(bytes: &[u8]) {
    let mut bytes = Unstructured::new(bytes);
    let _ = drive(&mut bytes);
}

fn drive(bytes: &mut Unstructured<'_>) -> Result<()> {
    let mut driven = Driven::new(bytes)?;
    driven.drain();
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            break;
        }
        driven.step(bytes)?;
        driven.drain();
    }
    driven.wait_for_rest();
    Ok(())
}

/// Any behaviour: that of a profile with some switches turned.
pub(crate) fn any_config(bytes: &mut Unstructured<'_>) -> Result<Config> {
    let mut config = bytes.choose(&Profile::ALL)?.config();
    let turned = u16::arbitrary(bytes)?;
    let is_turned = |bit: u16| turned & 1 << bit != 0;
    config.sack ^= is_turned(0);
    config.timestamps ^= is_turned(1);
    config.window_scaling ^= is_turned(2);
    config.collapse_retransmissions ^= is_turned(3);
    config.linear_timeouts ^= is_turned(4);
    config.modified_fast_retransmit ^= is_turned(5);
    config.limited_transmit ^= is_turned(6);
    if is_turned(7) {
        config.ecn.outgoing = EcnFeedback::Classic;
    }
    if is_turned(8) {
        config.mss = bytes.int_in_range(88..=9000)?;
    }
    if is_turned(9) {
        // Linux makes no smaller ones.
        config.receive_buffer = bytes.int_in_range(2304..=1 << 20)?;
        config.send_buffer = bytes.int_in_range(4608..=1 << 20)?;
    }
    if is_turned(10) {
        config.initial_window = bytes.int_in_range(1..=64)?;
    }
    if is_turned(11) {
        config.receiving.accounting = BufferAccounting::Memory;
    }
    if is_turned(12) {
        config.path.probing = MtuProbing::Always;
    }
    if is_turned(13) {
        config.loss.detection = LossDetection::Rack;
        config.loss.speculative_retransmission = true;
        config.loss.timeout_spares_recent = true;
    }
    if is_turned(14) {
        config.liveness.keep_alive.enabled = true;
        config.liveness.user_timeout = Some(Span::from_secs(20));
    }
    if is_turned(15) {
        config.sending.cork = true;
        config.growth.inflight_limit = true;
    }
    if config.linear_timeouts || config.modified_fast_retransmit {
        config.thin = any_thin_recovery(bytes)?;
    }
    Ok(config)
}

fn any_thin_recovery(bytes: &mut Unstructured<'_>) -> Result<ThinRecovery> {
    let streams = match bytes.int_in_range(0..=3)? {
        0 => ThinStreams::All,
        1 => ThinStreams::ApplicationLimited,
        _ => ThinStreams::FewOutstanding { below: bytes.int_in_range(1..=16)? },
    };
    let mut percent = |range| -> Result<Factor> {
        let percent: u64 = bytes.int_in_range(range)?;
        Ok(Factor::from_ratio(Ratio::from_parts_per_billion(percent * 10_000_000)))
    };
    let constants = RecoveryConstants {
        backoff_factor: percent(100..=400)?,
        probe_factor: percent(100..=800)?,
        reordering_window: percent(0..=100)?,
        probe_ack_delay: bool::arbitrary(bytes)?.then_some(Span::from_millis(25)),
    };
    Ok(ThinRecovery {
        streams,
        linear_retries: bytes.int_in_range(0..=9)?,
        duplicate_threshold: bytes.int_in_range(1..=4)?,
        constants: bool::arbitrary(bytes)?.then_some(constants),
    })
}

struct Driven {
    connection: Connection,
    now: Instant,
    /// What the endpoint sent last, to answer near it.
    last: Segment,
}

impl Driven {
    fn new(bytes: &mut Unstructured<'_>) -> Result<Self> {
        let config = Arc::new(any_config(bytes)?);
        let connection = match bytes.int_in_range(0..=3)? {
            0 => Connection::connect(config, PORTS, OURS),
            1 => {
                let syn = any_syn(bytes)?;
                Connection::connect_with_fast_open(config, PORTS, OURS, syn)
            }
            2 => Connection::listen(config, PORTS, OURS),
            _ => {
                let mut connection = Connection::listen(config, PORTS, OURS);
                let cookie = Cookie::new(&[7; 8]).unwrap_or_default();
                let without_cookie = bool::arbitrary(bytes)?;
                connection.permit_fast_open(FastOpenPermit {
                    cookie,
                    former: None,
                    without_cookie,
                });
                connection
            }
        };
        let last = Segment { sequence: OURS, ..Segment::default() };
        Ok(Self { connection, now: Instant::from_secs(10), last })
    }

    fn step(&mut self, bytes: &mut Unstructured<'_>) -> Result<()> {
        let (now, connection) = (self.now, &mut self.connection);
        match bytes.int_in_range(0..=15_u8)? {
            0..=5 => {
                let segment = self.any_segment(bytes)?;
                self.connection.on_segment(now, &segment);
            }
            6 | 7 => self.pass(Span::from_micros(u64::from(u32::arbitrary(bytes)? >> 8))),
            8 => {
                connection.write(u64::from(u16::arbitrary(bytes)?) * 7);
            }
            9 => {
                connection.read(now, u32::from(u16::arbitrary(bytes)?));
            }
            10 => self.pass_to_deadline(),
            11 => connection.close(),
            12 => connection.shut_down(),
            13 => {
                let (quoted, error) = (self.near_ours(bytes)?, any_icmp_error(bytes)?);
                self.connection.on_icmp_error(now, quoted, error);
            }
            14 => match bytes.int_in_range(0..=7_u8)? {
                0 => connection.abort(),
                1 => connection.release(now),
                2 => connection.shut_receiving(),
                3 => connection.set_quick_acknowledgments(u32::arbitrary(bytes)?),
                _ => {
                    let config = any_config(bytes)?;
                    connection.reconfigure(now, Arc::new(config));
                }
            },
            _ => {
                let _ = connection.tcp_info(now);
            }
        }
        Ok(())
    }

    fn near_ours(&self, bytes: &mut Unstructured<'_>) -> Result<SequenceNumber> {
        let end = self.last.end();
        Ok(match bytes.int_in_range(0..=3_u8)? {
            0 => end,
            1 => end - u32::from(u16::arbitrary(bytes)?),
            2 => end + u32::from(u8::arbitrary(bytes)?),
            _ => SequenceNumber::new(u32::arbitrary(bytes)?),
        })
    }

    /// A segment that fits, nearly fits, or is anything.
    fn any_segment(&self, bytes: &mut Unstructured<'_>) -> Result<Segment> {
        let expected = self.last.acknowledgment;
        let sequence = match bytes.int_in_range(0..=4_u8)? {
            0 | 1 => expected,
            2 => expected + u32::from(u16::arbitrary(bytes)?),
            3 => expected - u32::from(u8::arbitrary(bytes)?),
            _ => SequenceNumber::new(PEER.wrapping_add(u32::arbitrary(bytes)? >> 20)),
        };
        let flags = match bytes.int_in_range(0..=7_u8)? {
            0..=4 => Flags::ACK,
            5 => Flags::ACK | Flags::FIN,
            6 => Flags::SYN | Flags::ACK,
            _ => Flags::from_bits(u16::arbitrary(bytes)?),
        };
        let area = {
            let length = bytes.int_in_range(0..=40_usize)?;
            bytes.bytes(length.min(bytes.len()))?
        };
        let payload_bytes = match bytes.int_in_range(0..=3_u8)? {
            0 | 1 => 0,
            2 => u32::from(u16::arbitrary(bytes)?),
            _ => u32::from(u8::arbitrary(bytes)?),
        };
        Ok(Segment {
            source_port: PORTS.remote,
            destination_port: PORTS.local,
            sequence,
            acknowledgment: self.near_ours(bytes)?,
            flags,
            window: u16::arbitrary(bytes)?,
            urgent: u16::from(u8::arbitrary(bytes)?),
            traffic_class: TrafficClass::new(u8::arbitrary(bytes)?),
            payload_bytes,
            options: options_of(area).unwrap_or_default(),
        })
    }

    fn pass(&mut self, time: Span) {
        let until = self.now + time;
        for _ in 0..MOST_STEPS {
            if self.connection.next_deadline() > until {
                break;
            }
            self.pass_to_deadline();
            self.drain();
        }
        self.now = self.now.max(until);
    }

    fn pass_to_deadline(&mut self) {
        let deadline = self.connection.next_deadline();
        if deadline != Instant::MAX {
            self.now = self.now.max(deadline);
            self.connection.on_deadline(self.now);
        }
    }

    fn drain(&mut self) {
        for count in 0.. {
            let Some(segment) = self.connection.poll_segment(self.now) else { break };
            assert!(count < MOST_SEGMENTS, "it never stops sending: {segment:?}");
            assert!(segment.options.wire_bytes() <= 40, "too many options: {segment:?}");
            assert!(segment.payload_bytes <= 1 << 16, "too much payload: {segment:?}");
            self.last = segment;
        }
        while self.connection.poll_event().is_some() {}
    }

    /// Left alone, every connection comes to an end or to rest, and does not busy itself for ever at
    /// one instant.
    fn wait_for_rest(&mut self) {
        for _ in 0..MOST_STEPS {
            let before = self.connection.next_deadline();
            if before == Instant::MAX || self.connection.state() == State::Closed {
                return;
            }
            self.pass_to_deadline();
            self.drain();
        }
    }
}

fn any_syn(bytes: &mut Unstructured<'_>) -> Result<FastOpenSyn> {
    let cookie = Cookie::new(&[7; 8]).unwrap_or_default();
    Ok(match bytes.int_in_range(0..=2_u8)? {
        0 => FastOpenSyn::Request(FastOpenKind::Experimental),
        1 => {
            FastOpenSyn::Data { option: None, bytes: u32::arbitrary(bytes)? >> 16, peer_mss: None }
        }
        _ => FastOpenSyn::Data {
            option: Some(FastOpen { kind: FastOpenKind::Assigned, cookie }),
            bytes: u32::from(u16::arbitrary(bytes)?),
            peer_mss: Some(u16::arbitrary(bytes)?),
        },
    })
}

fn any_icmp_error(bytes: &mut Unstructured<'_>) -> Result<IcmpError> {
    Ok(match bytes.int_in_range(0..=4_u8)? {
        0 | 1 => IcmpError::TooLarge { mtu: u32::from(u16::arbitrary(bytes)?) },
        2 => IcmpError::Unreachable(Unreachable::Host),
        3 => IcmpError::Unreachable(Unreachable::Port),
        _ => IcmpError::Unreachable(Unreachable::TooLarge),
    })
}
