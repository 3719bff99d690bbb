//! Resolution of a checked scenario into an experiment: defaults that depend on other keys, limits, names.

mod network;

use crate::congestion::Congestion;
use crate::experiment::{Experiment, FlowGroup};
use crate::input::{FlowsInput, ScenarioInput};
use crate::named_file::Recordings;
use crate::{
    Burst, MessageSize, Pace, RecordedApplication, TcpSettings, Transport, Varying, Workload,
    WorkloadInput,
};
use fairwind_units::ByteCount;

pub(crate) use network::{link_name, reverse_name};

/// Resolves a scenario that keeps all the rules.
///
/// # Panics
/// On a scenario that breaks one, or names a recording that is not there.
pub(crate) fn resolve(input: &ScenarioInput, recordings: &Recordings) -> Experiment {
    Experiment {
        name: input.name.clone(),
        description: input.description.clone().unwrap_or_default(),
        duration: input.duration,
        network: network::resolve(input, recordings),
        flows: input.flows.iter().map(|flows| flow_group(flows, recordings)).collect(),
        measure: input.measure.clone(),
        capture: input.capture.clone(),
    }
}

fn flow_group(flows: &FlowsInput, recordings: &Recordings) -> FlowGroup {
    let workload = workload(&flows.workload, recordings);
    FlowGroup {
        name: flows.name.clone(),
        count: flows.count,
        from: flows.from.clone().unwrap_or_else(|| network::opener(flows)),
        to: flows.to.clone().unwrap_or_else(|| network::called(flows)),
        start: flows.start,
        start_spread: flows.start_spread,
        start_pattern: flows.start_pattern,
        stop: flows.stop,
        tcp: sender_tcp(&flows.tcp, &workload),
        receiver_tcp: receiver_tcp(flows, &workload),
        workload,
    }
}

fn workload(input: &WorkloadInput, recordings: &Recordings) -> Workload {
    match input.clone() {
        WorkloadInput::Thin { payload, packet, interval, transport } => {
            Workload::Thin { size: message_size(payload, packet), interval, transport }
        }
        WorkloadInput::Profile { application, transport } => {
            recorded_stream(application, transport)
        }
        WorkloadInput::Greedy { volume } => Workload::Greedy { volume },
        WorkloadInput::RequestResponse { request, response, think_time, pause, exchanges } => {
            let (think_time, pause) = (or_none(think_time), or_none(pause));
            Workload::RequestResponse { request, response, think_time, pause, exchanges }
        }
        WorkloadInput::OnOff { on, volume, off, rate, message } => {
            let burst = match (on, volume) {
                (Some(time), _) => Burst::Time(time),
                (None, Some(volume)) => Burst::Volume(volume),
                (None, None) => unreachable!("the rules ask for one of them"),
            };
            let message = message.unwrap_or(USUAL_MESSAGE);
            Workload::OnOff { burst, off, pace: rate.map(|rate| Pace { rate, message }) }
        }
        WorkloadInput::Web(pages) => Workload::Web(pages),
        WorkloadInput::Transfers { volume, transfers, pause, request, ack_delay } => {
            let (pause, request) = (or_none(pause), or_none(request));
            let ack_delay = ack_delay.unwrap_or_default();
            Workload::Transfers { volume, transfers, pause, request, ack_delay }
        }
        WorkloadInput::Constant { rate, payload, packet, transport } => {
            let constant = |size: Option<ByteCount>| size.map(Varying::Constant);
            Workload::Constant {
                rate,
                size: message_size(constant(payload), constant(packet)),
                transport,
            }
        }
        WorkloadInput::Replay { file, connection, writes, transport } => {
            let recorded = file.and_then(|file| recordings.writes(&file, connection.as_deref()));
            let writes = recorded.or(writes.map(Into::into));
            let writes = writes.unwrap_or_else(|| unreachable!("the rules ask for one of them"));
            Workload::Replay { writes, transport }
        }
        WorkloadInput::Relay { of, buffer } => Workload::Relay { of, buffer },
    }
}

/// The stream that corresponds to the recording, over `transport`.
fn recorded_stream(application: RecordedApplication, transport: Transport) -> Workload {
    let recording = application.recording();
    match recording.interval {
        None => Workload::Greedy { volume: None },
        Some(interval) => Workload::Thin {
            size: MessageSize::Payload(recording.payload.distribution()),
            interval: interval.distribution(),
            transport,
        },
    }
}

/// The quantity that was said, or none of it.
fn or_none<T: Default>(said: Option<Varying<T>>) -> Varying<T> {
    said.unwrap_or_else(|| Varying::Constant(T::default()))
}

/// Bytes of each write in a burst with a rate.
const USUAL_MESSAGE: ByteCount = ByteCount::new(1000);

fn message_size(
    payload: Option<Varying<ByteCount>>,
    packet: Option<Varying<ByteCount>>,
) -> MessageSize {
    match (payload, packet) {
        (Some(payload), _) => MessageSize::Payload(payload),
        (None, Some(packet)) => MessageSize::Packet(packet),
        (None, None) => unreachable!("the rules ask for one of them"),
    }
}

/// Interactive applications set `TCP_NODELAY`, so a thin stream does by default, and
/// so do those that ask and answer.
fn sender_tcp(input: &TcpSettings, workload: &Workload) -> TcpSettings {
    let nagle =
        if workload.is_interactive() { Some(input.has_nagle(workload)) } else { input.nagle };
    TcpSettings { profile: Some(input.profile()), nagle, ..*input }
}

/// Who answers sends data too, so nothing tells its settings from those of who asks but what is
/// said. Who only receives has the sender's congestion control where that needs it.
fn receiver_tcp(flows: &FlowsInput, workload: &Workload) -> TcpSettings {
    let receiver = if workload.is_answered() {
        sender_tcp(
            &with_profile(flows.receiver_tcp.as_ref().unwrap_or(&flows.tcp), flows),
            workload,
        )
    } else {
        with_profile(&flows.receiver_tcp.unwrap_or_default(), flows)
    };
    let of_both_ends = flows.tcp.congestion.filter(Congestion::is_of_both_ends);
    TcpSettings { congestion: receiver.congestion.or(of_both_ends), ..receiver }
}

/// The settings with their own profile, or else that of who opens the connections.
fn with_profile(settings: &TcpSettings, flows: &FlowsInput) -> TcpSettings {
    let profile = settings.profile.unwrap_or(flows.tcp.profile());
    TcpSettings { profile: Some(profile), ..*settings }
}
