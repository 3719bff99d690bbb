//! ICMP messages as complaints to an endpoint, and errors that come of them.
//!
//! | message | complaint | error |
//! |---|---|---|
//! | `unreachable frag_needed mtu N`, `packet_too_big mtu N` | too large | `EMSGSIZE` |
//! | `unreachable net_unreachable`, `net_unknown`, `noroute` | no way to the network | `ENETUNREACH` |
//! | `unreachable host_unreachable`, `addr_unreachable`, `time_exceeded` | no way to the host | `EHOSTUNREACH` |
//! | `unreachable protocol_unreachable` | unknown protocol | `ENOPROTOOPT` |
//! | `unreachable port_unreachable` | nobody listens | `ECONNREFUSED` |
//! | `unreachable packet_filtered`, `net_prohibited`, `host_prohibited`, `admin_prohibited` | refused | `EHOSTUNREACH` |
//! | `parameter_problem` | malformed | `EPROTO` |
//! | `source_quench` | none (RFC 6633) | |

use crate::outcome::{Step, Stop};
use crate::script::Icmp;
use fairwind_tcp::{Complaint, Unreachable};

/// What a message complains of, if of anything.
pub(super) fn understand(message: &Icmp) -> Step<Option<Complaint>> {
    let reason = match message.kind.as_str() {
        "unreachable frag_needed" | "packet_too_big" => {
            return Ok(Some(Complaint::TooLarge { mtu: message.mtu.unwrap_or(0) }));
        }
        "source_quench" => return Ok(None),
        "unreachable net_unreachable"
        | "unreachable net_unknown"
        | "unreachable noroute"
        | "unreachable net_unreachable_for_tos" => Unreachable::Network,
        "unreachable host_unreachable"
        | "unreachable addr_unreachable"
        | "unreachable host_unreachable_for_tos"
        | "time_exceeded"
        | "time_exceeded exceeded_in_transit" => Unreachable::Host,
        "unreachable protocol_unreachable" => Unreachable::Protocol,
        "unreachable port_unreachable" => Unreachable::Port,
        "unreachable packet_filtered"
        | "unreachable net_prohibited"
        | "unreachable host_prohibited"
        | "unreachable admin_prohibited" => Unreachable::Refused,
        "parameter_problem" => Unreachable::Malformed,
        other => {
            return Err(Stop::unsupported(format!("the message `icmp {other}` is not known here")));
        }
    };
    Ok(Some(Complaint::Unreachable(reason)))
}

/// The error that an application is told (Linux `icmp_err_convert`).
pub(super) fn error_of(reason: Unreachable) -> &'static str {
    match reason {
        Unreachable::Network => "ENETUNREACH",
        Unreachable::Protocol => "ENOPROTOOPT",
        Unreachable::Port => "ECONNREFUSED",
        Unreachable::Malformed => "EPROTO",
        Unreachable::TooLarge => "EMSGSIZE",
        _ => "EHOSTUNREACH",
    }
}
