//! What the endpoint tells of itself to code: fields of Linux' `TCP_INFO`, and their constants.
//!
//! | field | meaning |
//! |---|---|
//! | `tcpi_state` | state, by Linux' number |
//! | `tcpi_ca_state` | state of recovery (`TCP_CA_Open`, `TCP_CA_Disorder`, `TCP_CA_Recovery`, `TCP_CA_Loss`) |
//! | `tcpi_snd_cwnd`, `tcpi_snd_ssthresh` | in segments; the threshold is 2147483647 before the first loss |
//! | `tcpi_rto`, `tcpi_rtt`, `tcpi_min_rtt` | in microseconds; 0 and 4294967295 before the first sample |
//! | `tcpi_snd_mss` | payload of a full segment |
//! | `tcpi_reordering` | duplicate ACKs that prove a loss: the endpoint never changes them |
//! | `tcpi_notsent_bytes`, `tcpi_bytes_received` | written and not sent; received in order |
//! | `tcpi_unacked`, `tcpi_sacked`, `tcpi_lost`, `tcpi_retrans` | while nothing is amiss (`TCP_CA_Open`): otherwise the endpoint does not tell |
//!
//! Every other field makes a script unsupported.

use super::host::Endpoint;
use crate::code::{Environment, Value};
use fairwind_tcp::{RecoveryState, State};
use fairwind_units::Span;

const CONSTANTS: &[(&str, i64)] = &[
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_INFINITE_SSTHRESH", INFINITE_SSTHRESH),
];
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;
/// Least round-trip time of Linux before there was a sample.
const NO_SAMPLE: i64 = 0xffff_ffff;

/// Tells code what a system knows at present, in place of what was told before.
pub(crate) fn tell(information: &[(&'static str, i64)], environment: &mut Environment) {
    environment.forget("tcpi_");
    for (name, number) in CONSTANTS.iter().chain(information) {
        environment.define(name, Value::Number(*number));
    }
}

/// What `endpoint` knows at present.
pub(crate) fn information(endpoint: &Endpoint) -> Vec<(&'static str, i64)> {
    let mut told = Vec::new();
    let mut define = |name: &'static str, number: i64| told.push((name, number));
    let connection = &endpoint.connection;
    define("tcpi_state", state_number(connection.state()));
    define("tcpi_ca_state", recovery_number(connection.recovery_state()));
    define("tcpi_snd_cwnd", i64::from(connection.congestion_window()));
    let threshold = connection.slow_start_threshold();
    define("tcpi_snd_ssthresh", threshold.map_or(INFINITE_SSTHRESH, i64::from));
    define("tcpi_rto", micros(connection.retransmission_timeout()));
    define("tcpi_rtt", connection.smoothed_rtt().map_or(0, micros));
    define("tcpi_min_rtt", connection.least_rtt().map_or(NO_SAMPLE, micros));
    define("tcpi_snd_mss", i64::from(connection.segment_bytes()));
    define("tcpi_reordering", i64::from(endpoint.config.duplicate_threshold));
    define("tcpi_notsent_bytes", count(connection.unsent_bytes()));
    define("tcpi_bytes_received", count(connection.received_bytes()));
    if connection.recovery_state() == RecoveryState::Open {
        define("tcpi_unacked", i64::from(connection.flight()));
        for name in ["tcpi_sacked", "tcpi_lost", "tcpi_retrans"] {
            define(name, 0);
        }
    }
    told
}

fn micros(span: Span) -> i64 {
    count(span.as_micros())
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn state_number(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

fn recovery_number(state: RecoveryState) -> i64 {
    match state {
        RecoveryState::Open => 0,
        RecoveryState::Disorder => 1,
        RecoveryState::Recovery => 3,
        RecoveryState::Loss => 4,
    }
}
