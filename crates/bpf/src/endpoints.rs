//! Endpoint events from `bpf/endpoints.bpf.c`: entries into recovery and loss, retransmitted SYNs, and
//! the window at every acknowledgment.
//!
//! They are counted as in the simulator's endpoint. A time-out is every expiry of the retransmission
//! timer with data outstanding, a fast retransmit every entry into recovery. A sample at an
//! acknowledgment is the state *before* the kernel processes that acknowledgment.

use super::events::EventStream;
use super::loader::Object;
use super::{BpfError, RawEvent};
use fairwind_assembly::Sink;
use fairwind_measure::{CongestionState, FlowId, Observation};
use fairwind_units::{Instant, Span};
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// A watched connection, at the host that sends its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Its flow.
    pub flow: FlowId,
    /// The data sender's network namespace: the inode of `/proc/PID/ns/net`.
    pub namespace: u32,
    /// Address and port of the data sender.
    pub local: SocketAddr,
    /// Address and port of the data receiver.
    pub remote: SocketAddr,
}

/// Which events to report; each kind costs time in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndpointEvents {
    /// Time-outs and fast retransmits.
    pub recovery: bool,
    /// Retransmitted SYNs.
    pub syn_retries: bool,
    /// A sample of the data sender's state at every acknowledgment that comes.
    pub acknowledgments: bool,
}

impl EndpointEvents {
    /// Functions in `bpf/endpoints.bpf.c`.
    fn programs(self) -> Vec<&'static str> {
        let programs = [
            (self.recovery, "state_changes"),
            (self.syn_retries, "retransmits"),
            (self.acknowledgments, "acknowledged"),
        ];
        programs.into_iter().filter_map(|(wanted, name)| wanted.then_some(name)).collect()
    }
}

/// Events of watched endpoints. Dropping this unloads the programs.
#[derive(Debug)]
pub struct EndpointWatch {
    events: EventStream<Observation<'static>>,
    flows: HashMap<ConnectionKey, FlowId>,
    origin: Instant,
}

impl EndpointWatch {
    /// Begins to watch. Connections need not exist yet, but their namespaces do.
    ///
    /// # Errors
    /// If the kernel has no such programs, this build has none, or this user may not load them.
    pub fn new(connections: &[Connection], facts: EndpointEvents) -> Result<Self, BpfError> {
        let events = EventStream::attach(Object::Endpoints, &facts.programs())?;
        let namespaces: BTreeSet<u32> = connections.iter().map(|one| one.namespace).collect();
        for namespace in namespaces {
            events.set("namespaces", &namespace.to_ne_bytes(), &[1, 0, 0, 0])?;
        }
        let flows = connections.iter().map(|&Connection { flow, namespace, local, remote }| {
            (ConnectionKey { namespace, local, remote }, flow)
        });
        Ok(Self { events, flows: flows.collect(), origin: Instant::ZERO })
    }

    /// Reports instants relative to `origin` on the monotonic clock from now on. Earlier events are
    /// reported at zero.
    pub fn set_origin(&mut self, origin: Instant) {
        self.origin = origin;
    }

    /// Reports new events in order; waits at most `limit` if there are few. Returns the watermark:
    /// all later events are at or after it.
    pub fn read(&mut self, limit: Duration, sink: &mut impl Sink) -> Result<Instant, BpfError> {
        let Self { events, flows, origin } = self;
        let each = |at, fact| sink.observe(since(*origin, at), fact);
        Ok(since(*origin, events.read(limit, |record| decode(flows, record), each)?))
    }

    /// Reports all remaining events.
    pub fn finish(&mut self, sink: &mut impl Sink) -> Result<(), BpfError> {
        let Self { events, flows, origin } = self;
        let each = |at, fact| sink.observe(since(*origin, at), fact);
        events.finish(|record| decode(flows, record), each)
    }

    /// How many events were lost because they came faster than they were read.
    pub fn missed(&self) -> u64 {
        self.events.missed()
    }
}

fn decode(
    flows: &HashMap<ConnectionKey, FlowId>,
    record: RawEvent<'_>,
) -> Option<(Instant, Observation<'static>)> {
    let event = EndpointEvent::read(record);
    let flow = flows.get(&event.ends)?;
    Some((event.at, event.observation(*flow)?))
}

fn since(origin: Instant, at: Instant) -> Instant {
    Instant::ZERO + at.saturating_since(origin)
}

const STATE_CHANGES: u8 = 1;
const RETRANSMITS: u8 = 2;
const ACKNOWLEDGED: u8 = 3;

/// `TCP_SYN_SENT`: time-outs in the handshake are counted separately.
const SYN_SENT: u8 = 2;
/// `TCP_CA_Recovery`.
const RECOVERY: u8 = 3;
/// `TCP_CA_Loss`.
const LOSS: u8 = 4;
/// `TCP_INFINITE_SSTHRESH`.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Which connection of which namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ConnectionKey {
    namespace: u32,
    local: SocketAddr,
    remote: SocketAddr,
}

/// One event.
#[derive(Debug, Clone, Copy)]
struct EndpointEvent {
    at: Instant,
    ends: ConnectionKey,
    kind: u8,
    tcp_state: u8,
    state: u8,
    next_state: u8,
    window: u32,
    threshold: u32,
    smoothed_rtt_eighths: u32,
    flight: u32,
}

impl EndpointEvent {
    fn read(record: RawEvent<'_>) -> Self {
        let family = record.u16(16);
        let end = |address, port| SocketAddr::new(address_at(record, family, address), port);
        Self {
            at: Instant::from_nanos(record.u64(0)),
            ends: ConnectionKey {
                namespace: record.u32(8),
                local: end(24, record.u16(18)),
                remote: end(40, record.u16(20)),
            },
            kind: record.u8(12),
            tcp_state: record.u8(13),
            state: record.u8(14),
            next_state: record.u8(15),
            window: record.u32(60),
            threshold: record.u32(64),
            smoothed_rtt_eighths: record.u32(68),
            flight: record.u32(72),
        }
    }

    /// The event as an observation, if the measures need it.
    fn observation(&self, flow: FlowId) -> Option<Observation<'static>> {
        match self.kind {
            // A SYN's time-out goes through the state of loss as well.
            STATE_CHANGES if self.tcp_state == SYN_SENT => None,
            STATE_CHANGES if self.next_state == LOSS => Some(Observation::Timeout { flow }),
            STATE_CHANGES if self.next_state == RECOVERY && self.state != RECOVERY => {
                Some(Observation::FastRetransmit { flow })
            }
            RETRANSMITS if self.tcp_state == SYN_SENT => Some(Observation::SynRetry { flow }),
            ACKNOWLEDGED => Some(Observation::Endpoint {
                flow,
                cwnd_packets: self.window,
                ssthresh_packets: Some(self.threshold).filter(|packets| *packets < NO_THRESHOLD),
                smoothed_rtt: self.smoothed_rtt(),
                flight_packets: self.flight,
                state: congestion_state(self.state),
            }),
            _ => None,
        }
    }

    fn smoothed_rtt(&self) -> Option<Span> {
        let eighths = u64::from(self.smoothed_rtt_eighths);
        (eighths > 0).then(|| Span::from_nanos(eighths * 125))
    }
}

fn address_at(record: RawEvent<'_>, family: u16, offset: usize) -> IpAddr {
    let bytes = record.bytes(offset, 16);
    if i32::from(family) == libc::AF_INET {
        let octets: [u8; 4] = bytes.first_chunk().copied().unwrap_or_default();
        return IpAddr::V4(Ipv4Addr::from(octets));
    }
    let octets: [u8; 16] = bytes.first_chunk().copied().unwrap_or_default();
    IpAddr::V6(Ipv6Addr::from(octets))
}

/// `enum tcp_ca_state`.
fn congestion_state(number: u8) -> CongestionState {
    match number {
        1 => CongestionState::Disorder,
        2 => CongestionState::WindowReduced,
        RECOVERY => CongestionState::Recovery,
        LOSS => CongestionState::Loss,
        _ => CongestionState::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::{EndpointEvent, LOSS, RECOVERY, RawEvent, STATE_CHANGES, SYN_SENT};
    use fairwind_measure::{FlowId, Observation};

    const ESTABLISHED: u8 = 1;

    fn change(tcp_state: u8, from: u8, to: u8) -> Option<Observation<'static>> {
        let mut bytes = [0; 80];
        bytes[12..16].copy_from_slice(&[STATE_CHANGES, tcp_state, from, to]);
        EndpointEvent::read(RawEvent(&bytes)).observation(FlowId(0))
    }

    #[test]
    fn recovery_is_entered_once() {
        let entry = change(ESTABLISHED, 1, RECOVERY);
        assert!(matches!(entry, Some(Observation::FastRetransmit { .. })));
        assert!(change(ESTABLISHED, RECOVERY, RECOVERY).is_none());
    }

    #[test]
    fn consecutive_timeouts_all_count() {
        for from in [0, LOSS] {
            let entry = change(ESTABLISHED, from, LOSS);
            assert!(matches!(entry, Some(Observation::Timeout { .. })));
        }
    }

    #[test]
    fn lost_syn_is_not_data_timeout() {
        assert!(change(SYN_SENT, 0, LOSS).is_none());
    }
}
