//! Socket options of a script, `recvmsg` with its control messages, and what the kernel tells of a
//! connection: `struct tcp_info`, field by field (include/uapi/linux/tcp.h).

use super::call::{Descriptors, Made, Prepared, Stamps, byte_count, vector_of};
use Width::{Bits, U8, U16, U32, U64};
use fairwind_linux as linux;
use fairwind_linux::Message;
use fairwind_packetdrill::{
    Call, Expression, Step, Stop, text_bytes, verify_control_messages, verify_error_fields,
    verify_timestamp,
};

pub(super) fn set(call: &Call, open: &Descriptors) -> Step<Prepared> {
    let descriptor = open.live(call.argument(0)?)?;
    let (level, name) = (call.int(1)?, call.int(2)?);
    let value = bytes(call.argument(3)?)?;
    // A length that is written is meant, also a wrong one; longer ones than the value are not.
    let length = match call.arguments.get(4) {
        None | Some(Expression::Any) => value.len(),
        Some(length) => byte_count(length)?.min(value.len()),
    };
    Ok(Prepared::new(move || {
        Made::now(linux::set_option(descriptor, level, name, &value[..length]))
    }))
}

/// A value of an option as the kernel takes it.
fn bytes(value: &Expression) -> Step<Vec<u8>> {
    match value {
        Expression::Text(text) => Ok(text_bytes(text)),
        Expression::List(members) if members.len() == 1 => bytes(&members[0]),
        Expression::List(members) => Ok(members
            .iter()
            .map(Expression::int)
            .collect::<Step<Vec<_>>>()?
            .into_iter()
            .flat_map(i32::to_ne_bytes)
            .collect()),
        Expression::Record(_) => record(value),
        other => Ok(other.int()?.to_ne_bytes().to_vec()),
    }
}

/// `struct linger`, `struct timeval`
fn record(value: &Expression) -> Step<Vec<u8>> {
    let pair = |first, second| -> Step<(i64, i64)> {
        Ok((value.required_field(first)?.number()?, value.required_field(second)?.number()?))
    };
    let names = |name| value.field(name).is_some();
    if names("onoff") {
        let (on, seconds) = pair("onoff", "linger")?;
        return Ok(ints(&[on, seconds]));
    }
    if names("tv_sec") {
        let (seconds, micros) = pair("tv_sec", "tv_usec")?;
        return Ok([seconds.to_ne_bytes(), micros.to_ne_bytes()].concat());
    }
    Err(Stop::unsupported(format!("the value `{value}` is not supported")))
}

fn ints(numbers: &[i64]) -> Vec<u8> {
    let one = |number: &i64| i32::try_from(*number).unwrap_or(-1).to_ne_bytes();
    numbers.iter().flat_map(one).collect()
}

pub(super) fn get(call: &Call, open: &Descriptors) -> Step<Prepared> {
    let descriptor = open.live(call.argument(0)?)?;
    let (level, name) = (call.int(1)?, call.int(2)?);
    let what = call.argument(2)?.to_string();
    let expected = call.argument(3)?.clone();
    Ok(Prepared::new(move || {
        let mut value = [0_u8; 512];
        let (raw, length) = linux::get_option(descriptor, level, name, &mut value);
        let made = Made::now(raw);
        if raw.value < 0 { made } else { made.checked(judge(&what, &expected, &value[..length])) }
    }))
}

fn judge(what: &str, expected: &Expression, seen: &[u8]) -> Step<()> {
    let number = |place| int_at(seen, place).or(read(seen, 0, U8)).unwrap_or(-1);
    match expected {
        Expression::Any => Ok(()),
        Expression::List(members) if members.len() == 1 => judge(what, &members[0], seen),
        Expression::Text(text) => {
            let end = seen.iter().position(|byte| *byte == 0).unwrap_or(seen.len());
            let seen = String::from_utf8_lossy(&seen[..end]);
            if *text == seen {
                return Ok(());
            }
            Err(Stop::failed(format!("{what}: expected \"{text}\", seen \"{seen}\"")))
        }
        Expression::Record(_) if expected.field("onoff").is_some() => {
            expected.required_field("onoff")?.expect_number("onoff", number(0))?;
            expected.required_field("linger")?.expect_number("linger", number(4))
        }
        Expression::Record(_) => {
            Err(Stop::unsupported(format!("the value `{expected}` is not supported")))
        }
        other => other.expect_number(what, number(0)),
    }
}

/// `recvmsg`
pub(super) fn receive_message(call: &Call, open: &Descriptors, stamps: Stamps) -> Step<Prepared> {
    let descriptor = open.live(call.argument(0)?)?;
    let expected = call.argument(1)?.clone();
    let flags = call.int_or(2, 0)?;
    let mut message = Message { transfer: vector_of(&expected)?, ..Message::default() };
    Ok(Prepared::new(move || {
        let raw = linux::receive_message(descriptor, &mut message, flags);
        let made = Made::now(raw);
        if raw.value < 0 { made } else { made.checked(judge_message(&expected, &message, stamps)) }
    }))
}

/// Flags and control messages where they are written.
fn judge_message(expected: &Expression, seen: &Message, stamps: Stamps) -> Step<()> {
    if let Some(flags) = expected.field("msg_flags") {
        // What the caller asks for with MSG_CMSG_CLOEXEC comes back; nobody writes it.
        let flags_seen = seen.flags & !libc::MSG_CMSG_CLOEXEC;
        flags.expect_number("msg_flags", i64::from(flags_seen))?;
    }
    let parts = match expected.field("msg_control") {
        None | Some(Expression::Any) => return Ok(()),
        Some(list) => list.members()?,
    };
    let control: Vec<_> = seen
        .control
        .iter()
        .map(|(level, kind, content)| (i64::from(*level), i64::from(*kind), content))
        .collect();
    verify_control_messages(parts, &control, |expected, content| {
        judge_content(expected, content, stamps)
    })
}

/// The content of a control message: a number, a time, or a `struct sock_extended_err`.
fn judge_content(expected: &Expression, content: &[u8], stamps: Stamps) -> Step<()> {
    let byte = |place| read(content, place, U8).unwrap_or(-1);
    let word = |place| int_at(content, place).unwrap_or(-1);
    let Expression::Record(fields) = expected else {
        return expected.expect_number("cmsg_data", word(0));
    };
    if expected.field("scm_sec").is_some() {
        // A `struct timespec`; in a `struct scm_timestamping` that of software is the first.
        let part = |place| read(content, place, U64).unwrap_or(0).cast_unsigned();
        let seen = part(0).saturating_mul(1_000_000_000).saturating_add(part(8));
        return verify_timestamp(expected, seen.saturating_sub(stamps.origin), stamps.tolerance);
    }
    verify_error_fields(fields, |name| {
        Some(match name {
            "ee_errno" => word(0),
            "ee_origin" => byte(4),
            "ee_type" => byte(5),
            "ee_code" => byte(6),
            "ee_info" => word(8),
            "ee_data" => word(12),
            _ => return None,
        })
    })
}

/// How long a field is, in bits where it shares a byte.
#[derive(Clone, Copy)]
enum Width {
    U8,
    U16,
    U32,
    U64,
    /// The bits of one byte from the first, so many of them.
    Bits(u32, u32),
}

const FIELDS: &[(&str, usize, Width)] = &[
    ("tcpi_state", 0, U8),
    ("tcpi_ca_state", 1, U8),
    ("tcpi_retransmits", 2, U8),
    ("tcpi_probes", 3, U8),
    ("tcpi_backoff", 4, U8),
    ("tcpi_options", 5, U8),
    ("tcpi_snd_wscale", 6, Bits(0, 4)),
    ("tcpi_rcv_wscale", 6, Bits(4, 4)),
    ("tcpi_delivery_rate_app_limited", 7, Bits(0, 1)),
    ("tcpi_fastopen_client_fail", 7, Bits(1, 2)),
    ("tcpi_rto", 8, U32),
    ("tcpi_ato", 12, U32),
    ("tcpi_snd_mss", 16, U32),
    ("tcpi_rcv_mss", 20, U32),
    ("tcpi_unacked", 24, U32),
    ("tcpi_sacked", 28, U32),
    ("tcpi_lost", 32, U32),
    ("tcpi_retrans", 36, U32),
    ("tcpi_fackets", 40, U32),
    ("tcpi_last_data_sent", 44, U32),
    ("tcpi_last_ack_sent", 48, U32),
    ("tcpi_last_data_recv", 52, U32),
    ("tcpi_last_ack_recv", 56, U32),
    ("tcpi_pmtu", 60, U32),
    ("tcpi_rcv_ssthresh", 64, U32),
    ("tcpi_rtt", 68, U32),
    ("tcpi_rttvar", 72, U32),
    ("tcpi_snd_ssthresh", 76, U32),
    ("tcpi_snd_cwnd", 80, U32),
    ("tcpi_advmss", 84, U32),
    ("tcpi_reordering", 88, U32),
    ("tcpi_rcv_rtt", 92, U32),
    ("tcpi_rcv_space", 96, U32),
    ("tcpi_total_retrans", 100, U32),
    ("tcpi_pacing_rate", 104, U64),
    ("tcpi_max_pacing_rate", 112, U64),
    ("tcpi_bytes_acked", 120, U64),
    ("tcpi_bytes_received", 128, U64),
    ("tcpi_segs_out", 136, U32),
    ("tcpi_segs_in", 140, U32),
    ("tcpi_notsent_bytes", 144, U32),
    ("tcpi_min_rtt", 148, U32),
    ("tcpi_data_segs_in", 152, U32),
    ("tcpi_data_segs_out", 156, U32),
    ("tcpi_delivery_rate", 160, U64),
    ("tcpi_busy_time", 168, U64),
    ("tcpi_rwnd_limited", 176, U64),
    ("tcpi_sndbuf_limited", 184, U64),
    ("tcpi_delivered", 192, U32),
    ("tcpi_delivered_ce", 196, U32),
    ("tcpi_bytes_sent", 200, U64),
    ("tcpi_bytes_retrans", 208, U64),
    ("tcpi_dsack_dups", 216, U32),
    ("tcpi_reord_seen", 220, U32),
    ("tcpi_rcv_ooopack", 224, U32),
    ("tcpi_snd_wnd", 228, U32),
    ("tcpi_rcv_wnd", 232, U32),
    ("tcpi_rehash", 236, U32),
    ("tcpi_total_rto", 240, U16),
    ("tcpi_total_rto_recoveries", 242, U16),
    ("tcpi_total_rto_time", 244, U32),
    ("tcpi_received_ce", 248, U32),
    ("tcpi_delivered_e1_bytes", 252, U32),
    ("tcpi_delivered_e0_bytes", 256, U32),
    ("tcpi_delivered_ce_bytes", 260, U32),
    ("tcpi_received_e1_bytes", 264, U32),
    ("tcpi_received_e0_bytes", 268, U32),
    ("tcpi_received_ce_bytes", 272, U32),
    ("tcpi_accecn_fail_mode", 276, U16),
    ("tcpi_accecn_opt_seen", 278, U16),
];

/// What the kernel tells of a socket's memory, in its order (`include/uapi/linux/sock_diag.h`).
const MEMORY: [&str; 9] = [
    "SK_MEMINFO_RMEM_ALLOC",
    "SK_MEMINFO_RCVBUF",
    "SK_MEMINFO_WMEM_ALLOC",
    "SK_MEMINFO_SNDBUF",
    "SK_MEMINFO_FWD_ALLOC",
    "SK_MEMINFO_WMEM_QUEUED",
    "SK_MEMINFO_OPTMEM",
    "SK_MEMINFO_BACKLOG",
    "SK_MEMINFO_DROPS",
];

/// The memory of a socket, as far as the kernel tells it.
pub(super) fn memory(descriptor: i32) -> Vec<(&'static str, i64)> {
    let mut counts = [0; 4 * MEMORY.len()];
    let (_, length) =
        linux::get_option(descriptor, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut counts);
    let told = counts[..length.min(counts.len())].as_chunks::<4>().0;
    let told = told.iter().map(|count| i64::from(u32::from_ne_bytes(*count)));
    MEMORY.into_iter().zip(told).collect()
}

/// The fields that the kernel has filled in.
pub(super) fn fields(structure: &[u8]) -> Vec<(&'static str, i64)> {
    let known = FIELDS.iter();
    known.filter_map(|&(name, at, width)| Some((name, read(structure, at, width)?))).collect()
}

/// A C `int`.
fn int_at(structure: &[u8], at: usize) -> Option<i64> {
    Some(i32::from_ne_bytes(*structure.get(at..)?.first_chunk()?).into())
}

fn read(structure: &[u8], at: usize, width: Width) -> Option<i64> {
    let rest = structure.get(at..)?;
    Some(match width {
        U8 => i64::from(*rest.first()?),
        U16 => i64::from(u16::from_ne_bytes(*rest.first_chunk()?)),
        U32 => i64::from(u32::from_ne_bytes(*rest.first_chunk()?)),
        U64 => i64::try_from(u64::from_ne_bytes(*rest.first_chunk()?)).unwrap_or(i64::MAX),
        Bits(first, count) => i64::from(*rest.first()?) >> first & ((1 << count) - 1),
    })
}
