//! What the kernel tells of a connection: `struct tcp_info`, field by field (include/uapi/linux/tcp.h).

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
use Width::{Bits, U8, U16, U32, U64};

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

/// The fields that the kernel has filled in.
pub(super) fn fields(structure: &[u8]) -> Vec<(&'static str, i64)> {
    let known = FIELDS.iter();
    known.filter_map(|&(name, at, width)| Some((name, read(structure, at, width)?))).collect()
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
