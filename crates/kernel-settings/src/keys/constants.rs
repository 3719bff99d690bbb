//! Keys of constants and buffers.

use super::Key;
use crate::endpoint::{Endpoint, Side};
use crate::kernel::{AMPLE_MEMORY_BYTES, GREATEST_SEGMENT, GREATEST_TIMEOUT, SYN_COUNT, memory};
use fairwind_tcp::send_memory;
use fairwind_units::{ByteCount, Span};

/// What `tcp_rto_max_ms` and `TCP_RTO_MAX_MS` take.
const GREATEST_TIMEOUTS: std::ops::RangeInclusive<u64> = 1_000..=120_000;

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "initial_window",
        setting: "`initcwnd` of the host's routes",
        limits: "beyond 44 full segments the window of the peer's SYN, 64 KiB, bounds the first flight",
        apply: |end| {
            if let Some(segments) = end.settings.initial_window {
                end.route("initcwnd", segments.to_string());
            }
        },
    },
    Key {
        name: "initial_ssthresh",
        setting: "none",
        limits: "not available: a route's `ssthresh` counts only for peers that are remembered",
        apply: |end| {
            let mechanism = "a connection starts without a slow-start threshold";
            let alternative = "leave the key out; HyStart ends slow start";
            end.refuse_if(end.settings.initial_ssthresh.is_some(), mechanism, alternative);
        },
    },
    Key {
        name: "initial_rto",
        setting: "none: 1 s",
        limits: "other values are not available",
        apply: |end| {
            let is_other = end.settings.initial_rto.is_some_and(|rto| rto != Span::from_secs(1));
            let mechanism = "the time-out before the first sample is a constant of 1 s";
            end.refuse_if(is_other, mechanism, "initial_rto = \"1 s\", or leave the key out");
        },
    },
    Key {
        name: "minimum_rto",
        setting: "`tcp_rto_min_us` (from 6.11 on), or `rto_min` of the host's routes",
        limits: "rounded up to the step of the kernel's timers, 4 ms at 250 Hz; it bounds the variance \
                 of the time-out, not the whole, as in the simulator's Linux profiles",
        apply: minimum_rto,
    },
    Key {
        name: "maximum_rto",
        setting: "`TCP_RTO_MAX_MS` of every socket (from 6.15 on)",
        limits: "whole milliseconds from 1 s to 120 s",
        apply: maximum_rto,
    },
    Key {
        name: "syn_retries",
        setting: "`TCP_SYNCNT` of sockets that connect",
        limits: "1 to 127, beside four that are not backed off (`tcp_syn_linear_timeouts`), as in the \
                 simulator's `linux-6.18`",
        apply: syn_retries,
    },
    Key {
        name: "retransmission_limit",
        setting: "`tcp_retries2`",
        limits: "counted in time: as long as that many doublings from the least time-out take",
        apply: |end| {
            if let Some(limit) = end.settings.retransmission_limit {
                end.sysctl("net.ipv4.tcp_retries2", limit);
            }
        },
    },
    Key {
        name: "slow_start_after_idle",
        setting: "`tcp_slow_start_after_idle`",
        limits: "on, the window is halved for every time-out that passes, not below the initial one",
        apply: |end| {
            let on = end.settings.slow_start_after_idle;
            end.switch("net.ipv4.tcp_slow_start_after_idle", on);
        },
    },
];

fn minimum_rto(end: &mut Endpoint<'_>) {
    let Some(wanted) = end.settings.minimum_rto else { return };
    let kept = end.in_ticks(wanted);
    if end.kernel.has_sysctl("net.ipv4.tcp_rto_min_us") {
        end.sysctl("net.ipv4.tcp_rto_min_us", kept.as_micros());
    } else {
        end.route("rto_min", format!("{}ms", kept.as_millis()));
    }
}

fn maximum_rto(end: &mut Endpoint<'_>) {
    let Some(wanted) = end.settings.maximum_rto else { return };
    let millis = wanted.as_millis();
    let is_whole = Span::from_millis(millis) == wanted;
    let value = i32::try_from(millis).unwrap_or(i32::MAX);
    if !is_whole || !GREATEST_TIMEOUTS.contains(&millis) {
        let nearest = Span::from_millis(millis.clamp(1_000, 120_000));
        let alternative = format!("maximum_rto = \"{nearest}\"");
        end.refuse("it takes whole milliseconds from 1 s to 120 s", &alternative);
    } else if wanted != Span::from_secs(120)
        && !end.option("TCP_RTO_MAX_MS", GREATEST_TIMEOUT, value)
    {
        let mechanism = "the greatest time-out is a constant of 120 s before 6.15";
        end.refuse(mechanism, "maximum_rto = \"120 s\", or leave the key out");
    }
}

fn syn_retries(end: &mut Endpoint<'_>) {
    // Of a socket that listens, the option would bound the repetitions of its SYN-ACKs.
    if end.side == Side::Receiver {
        return;
    }
    match end.settings.syn_retries.map(i32::try_from) {
        None => {}
        Some(Ok(count @ 1..=127)) => {
            end.option("TCP_SYNCNT", SYN_COUNT, count);
        }
        Some(_) => {
            end.refuse("TCP_SYNCNT takes 1 to 127", "syn_retries = 1");
        }
    }
}

/// Bytes of the IPv4 and TCP headers without options.
const HEADERS: u64 = 40;

/// The smallest segment that `TCP_MAXSEG` takes.
const LEAST_SEGMENT: u64 = 88;
/// The largest segment that `TCP_MAXSEG` takes.
const GREATEST: u64 = 32_767;
/// The smallest window that is worth asking for.
const LEAST_WINDOW: u64 = 4_096;

pub(super) const BUFFER_KEYS: &[Key] = &[
    Key {
        name: "receive_buffer",
        setting: "memory by `tcp_rmem`: as much as offers that window with full segments of the path",
        limits: "4096 B to 512 MiB; of segments that are not full the window is up to a fifth smaller",
        apply: receive_buffer,
    },
    Key {
        name: "send_buffer",
        setting: "memory by `tcp_wmem`: as much as holds that in bundles of two full segments",
        limits: "the kernel counts memory: of larger bundles up to a quarter more fits, of small segments \
                 in flight less",
        apply: send_buffer,
    },
    Key {
        name: "mss",
        setting: "`TCP_MAXSEG` of every socket",
        limits: "88 to 32767 bytes, and what the path's MTU leaves",
        apply: mss,
    },
];

fn receive_buffer(end: &mut Endpoint<'_>) {
    let Some(window) = end.settings.receive_buffer.map(ByteCount::get) else { return };
    if !(LEAST_WINDOW..=512 << 20).contains(&window) {
        let mechanism = "windows are 4096 B to 512 MiB";
        return end.refuse(mechanism, "a size in between");
    }
    let bound = end.settings.mss.map_or(u64::MAX, |mss| mss.get() + HEADERS);
    let bytes = receive_memory(window, end.mtu.min(bound));
    end.sysctl_text("net.ipv4.tcp_rmem", memory(bytes));
}

/// Memory with which a receiver of packets of `packet` bytes offers `window`, while one of them
/// waits to be read: Linux `tcp_win_from_space`, `tcp_measure_rcv_mss`.
fn receive_memory(window: u64, packet: u64) -> u64 {
    let cost = packet_memory(packet);
    // The share of its memory that a packet's data is, in steps of 1/256.
    let share = (packet.saturating_sub(HEADERS).max(1) * 256 / cost).max(1);
    (window * 256).div_ceil(share) + cost
}

/// What a packet from a TUN device takes in memory: its bytes with what the kernel keeps before and
/// behind them in a piece of a size that it has ready, and its description (Linux `tun_alloc_skb`).
fn packet_memory(packet: u64) -> u64 {
    const DESCRIPTION: u64 = 256;
    const SHARED: u64 = 320;
    const PAGE: u64 = 4_096;
    let align = |bytes: u64, step: u64| bytes.div_ceil(step) * step;
    let before = 64;
    if packet + before < PAGE {
        return (align(packet + before, 64) + SHARED).next_power_of_two() + DESCRIPTION;
    }
    align(packet, PAGE) + align(before + SHARED, 512) + DESCRIPTION
}

fn send_buffer(end: &mut Endpoint<'_>) {
    let Some(bytes) = end.settings.send_buffer.map(ByteCount::get) else { return };
    let room = send_memory(bytes, end.mtu.saturating_sub(HEADERS));
    let room = room.min(i32::MAX.unsigned_abs().into());
    if room <= AMPLE_MEMORY_BYTES {
        let text = "the kernel counts the memory of its buffers, which small segments fill sooner";
        end.remark(text.to_owned());
    }
    end.sysctl_text("net.ipv4.tcp_wmem", memory(room));
}

fn mss(end: &mut Endpoint<'_>) {
    let Some(bytes) = end.settings.mss.map(ByteCount::get) else { return };
    match i32::try_from(bytes) {
        Ok(value) if (LEAST_SEGMENT..=GREATEST).contains(&bytes) => {
            end.option("TCP_MAXSEG", GREATEST_SEGMENT, value);
        }
        _ => {
            let nearest = bytes.clamp(LEAST_SEGMENT, GREATEST);
            let alternative = format!("mss = \"{nearest} B\"");
            end.refuse("TCP_MAXSEG takes 88 to 32767 bytes", &alternative);
        }
    }
}
