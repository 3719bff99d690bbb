//! How much is kept, offered and put into a segment.

use super::Key;
use crate::settings::end::{End, GREATEST_SEGMENT, WINDOW_CLAMP};
use crate::settings::usual::{AMPLE_MEMORY_BYTES, memory};

/// The smallest segment that `TCP_MAXSEG` takes.
const LEAST_SEGMENT: u64 = 88;
/// The largest segment that `TCP_MAXSEG` takes.
const GREATEST: u64 = 32_767;
/// The smallest window that `TCP_WINDOW_CLAMP` takes.
const LEAST_WINDOW: u64 = 2_304 / 2;

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "receive_buffer",
        told: "twice as much memory by `tcp_rmem`, and `TCP_WINDOW_CLAMP`",
        limits: "1152 B to 1 GiB; the window is offered in steps of its scale",
        apply: receive_buffer,
    },
    Key {
        name: "send_buffer",
        told: "twice as much memory by `tcp_wmem`",
        limits: "the kernel counts memory: with small segments fewer bytes fit",
        apply: send_buffer,
    },
    Key {
        name: "mss",
        told: "`TCP_MAXSEG` of every socket",
        limits: "88 to 32767 bytes, and what the path's MTU leaves",
        apply: mss,
    },
];

fn receive_buffer(end: &mut End<'_>) {
    let Some(bytes) = end.settings.receive_buffer.map(fairwind_units::ByteCount::get) else {
        return;
    };
    let value = i32::try_from(bytes).unwrap_or(i32::MAX);
    if !(LEAST_WINDOW..=1 << 30).contains(&bytes) {
        let mechanism = "windows are 1152 B to 1 GiB";
        return end.refuse("receive_buffer", mechanism, "a size in between");
    }
    let room = (2 * bytes).min(i32::MAX.unsigned_abs().into());
    end.sysctl_text("receive_buffer", "net.ipv4.tcp_rmem", memory(room));
    end.option("TCP_WINDOW_CLAMP", WINDOW_CLAMP, value);
}

fn send_buffer(end: &mut End<'_>) {
    let Some(bytes) = end.settings.send_buffer.map(fairwind_units::ByteCount::get) else {
        return;
    };
    let room = (2 * bytes).clamp(4_096, i32::MAX.unsigned_abs().into());
    if room <= AMPLE_MEMORY_BYTES {
        let text = "the kernel counts the memory of its buffers, which small segments fill sooner";
        end.remark("send_buffer", text.to_owned());
    }
    end.sysctl_text("send_buffer", "net.ipv4.tcp_wmem", memory(room));
}

fn mss(end: &mut End<'_>) {
    let Some(bytes) = end.settings.mss.map(fairwind_units::ByteCount::get) else { return };
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
