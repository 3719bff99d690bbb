//! Tests of programs that are written for a kernel's own headers, and of hooks that no file of the repository has.

use super::{Place, sender};
use fairwind_tcp::{AckReport, RateSample, TcpSock};

/// A source with its own `div64_u64`, `before`, `tcp_sk`, `min`, `clamp`, HZ and `CONFIG_HZ`.
#[test]
fn kernel_header_program_compiles_unchanged() {
    let place = Place::new(include_str!("conventions.c"));
    let compiled = place.compiled();
    assert_eq!(compiled.warnings, "");
    assert_eq!(compiled.included, [] as [std::path::PathBuf; 0]);
    if let Some(compiled) = place.object() {
        assert_eq!(compiled.warnings, "");
    }
    let mut control = place.control();
    let at = |millis: u64| TcpSock {
        now_nanos: millis * 1_000_000,
        now_micros: millis * 1_000,
        threshold: 5,
        window_limited: 1,
        ..sender(10)
    };
    let mut now = at(1_000);
    control.init(&mut now);
    let private = now.control.private;
    let mut early = TcpSock { control: now.control, ..at(1_099) };
    control.cong_avoid(&mut early, 1, 2);
    assert_eq!((early.window, early.control.private), (10, private), "99 ms are too few");
    let mut later = TcpSock { control: now.control, ..at(1_400) };
    control.cong_avoid(&mut later, 1, 2);
    assert_eq!(control.take_fault(), None);
    assert_eq!(later.window, 11);
    // Four periods, half as many again by its own division.
    assert_eq!(later.control.private[1], 6);
}

/// Each field of the sample is found where C looks for it.
#[test]
fn cong_control_gets_whole_rate_sample() {
    let place = Place::new(include_str!("rates.c"));
    assert_eq!(place.compiled().warnings, "");
    let mut control = place.control();
    let sample = RateSample {
        delivered_at_before_micros: 0x1_0000_0002,
        delivered_before: 3,
        marked_before: 4,
        delivered: 50,
        marked: -6,
        interval_micros: 40_000,
        sending_micros: 8,
        acknowledging_micros: 9,
        rtt_micros: -10,
        losses: 11,
        newly_delivered: 12,
        flight_before: 13,
        end: 14,
        is_application_limited: false,
        is_retransmission: true,
        is_delayed: true,
    };
    let mut sender =
        TcpSock { segment_bytes: 1000, min_rtt_micros: [[0, 20_000]; 3], ..sender(10) };
    control.init(&mut sender);
    assert_eq!(sender.control.pacing.status, 1);
    control.cong_control(&mut sender, 15, -16, &sample);
    assert_eq!(control.take_fault(), None);
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let expected = [
        0x1_0000_0002,
        pair(3, 4),
        pair(50, (-6_i32).cast_unsigned()),
        40_000,
        pair(8, 9),
        (-10_i64).cast_unsigned(),
        pair(11, 12),
        pair(13, 14),
        // Three bytes of no and yes, then the number of the acknowledgment.
        pair(0x01_01_00, 15),
        pair((-16_i32).cast_unsigned(), 0),
    ];
    assert_eq!(sender.control.private[..10], expected);
    // 50 segments in 40 ms: 25 in the 20 ms of the least round trip, and 1,250,000 bytes a second.
    assert_eq!((sender.window, sender.control.pacing.rate), (50, 1_250_000));
}

#[test]
fn user_files_get_ack_sample() {
    let text = super::source("1").replace(
        "SEC(\".struct_ops\")",
        "SEC(\"struct_ops\")\nvoid BPF_PROG(mine_pkts_acked, struct sock *sk, const struct ack_sample *sample)\n\
         {\n\ttcp_sk(sk)->snd_cwnd_cnt = sample->pkts_acked + sample->rtt_us + sample->in_flight;\n}\n\
         SEC(\".struct_ops\")",
    );
    let text = text.replace(".name =", ".pkts_acked = (void *)mine_pkts_acked,\n\t.name =");
    let place = Place::new(&text);
    place.compiled();
    let mut control = place.control();
    let report = AckReport { acknowledged: 2, rtt_micros: 30, flight_bytes: 400 };
    let mut once = sender(10);
    control.pkts_acked(&mut once, &report);
    assert_eq!(once.credit, 432);
    let mut both = sender(10);
    control.acknowledge(&mut both, &report, 1, 3);
    assert_eq!((both.credit, both.window, control.take_fault()), (432, 13, None));
}
