//! How much is kept, offered and put into a segment.

use super::Key;
use crate::defaults::{AMPLE_MEMORY_BYTES, memory};
use crate::endpoint::{Endpoint, GREATEST_SEGMENT};
use fairwind_units::ByteCount;

/// Bytes of the IPv4 and TCP headers without options.
const HEADERS: u64 = 40;

/// The smallest segment that `TCP_MAXSEG` takes.
const LEAST_SEGMENT: u64 = 88;
/// The largest segment that `TCP_MAXSEG` takes.
const GREATEST: u64 = 32_767;
/// The smallest window that is worth asking for.
const LEAST_WINDOW: u64 = 4_096;

/// Bytes of memory that a buffer to send takes besides its payload.
const BUFFER_COST: u64 = 832;

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "receive_buffer",
        told: "memory by `tcp_rmem`: as much as offers that window with full segments of the path",
        limits: "4096 B to 512 MiB; of segments that are not full the window is up to a fifth smaller",
        apply: receive_buffer,
    },
    Key {
        name: "send_buffer",
        told: "memory by `tcp_wmem`: as much as holds that in bundles of two full segments",
        limits: "the kernel counts memory: of larger bundles up to a quarter more fits, of small segments \
                 in flight less",
        apply: send_buffer,
    },
    Key {
        name: "mss",
        told: "`TCP_MAXSEG` of every socket",
        limits: "88 to 32767 bytes, and what the path's MTU leaves",
        apply: mss,
    },
];

fn receive_buffer(end: &mut Endpoint<'_>) {
    let Some(window) = end.settings.receive_buffer.map(ByteCount::get) else { return };
    if !(LEAST_WINDOW..=512 << 20).contains(&window) {
        let mechanism = "windows are 4096 B to 512 MiB";
        return end.refuse("receive_buffer", mechanism, "a size in between");
    }
    let bound = end.settings.mss.map_or(u64::MAX, |mss| mss.get() + HEADERS);
    let bytes = receive_memory(window, end.mtu.min(bound));
    end.sysctl_text("receive_buffer", "net.ipv4.tcp_rmem", memory(bytes));
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
    let bundle = 2 * end.mtu.saturating_sub(HEADERS).max(1);
    let room = bytes + (bytes * BUFFER_COST).div_ceil(bundle);
    let room = room.clamp(4_096, i32::MAX.unsigned_abs().into());
    if room <= AMPLE_MEMORY_BYTES {
        let text = "the kernel counts the memory of its buffers, which small segments fill sooner";
        end.remark("send_buffer", text.to_owned());
    }
    end.sysctl_text("send_buffer", "net.ipv4.tcp_wmem", memory(room));
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
            end.refuse("mss", "TCP_MAXSEG takes 88 to 32767 bytes", &alternative);
        }
    }
}
