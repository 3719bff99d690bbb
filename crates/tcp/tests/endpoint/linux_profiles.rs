//! Behaviour of Linux profiles, including differences between versions.

use crate::peer::{Endpoint, OFFER, ack, segment};
use fairwind_tcp::{Event, Profile, RefusedSegments, State, WriteFlags};
use fairwind_units::Span;
use fairwind_wire::{Flags, Options, SackBlock, Segment, SequenceNumber, Timestamps};

fn block(left: u32, right: u32) -> Options {
    let block = SackBlock { left: SequenceNumber::new(left), right: SequenceNumber::new(right) };
    Options { sack: std::iter::once(block).collect(), ..Options::NONE }
}

/// An end of an accepted connection with a receive buffer that its application set.
fn with_receive_buffer(profile: Profile, bytes: u32) -> Endpoint {
    let mut config = profile.config();
    config.receive_buffer = bytes;
    config.receiving.buffer_is_set = true;
    Endpoint::accepted(config)
}

#[test]
fn linux_7_challenges_reset_in_window() {
    for (profile, survives) in [(Profile::Linux6_18, false), (Profile::Linux7_3, true)] {
        let mut end = Endpoint::answering(profile.config(), OFFER);
        let answer = end.hear(&segment(Flags::RST, 2, 0));
        assert_eq!(answer.len(), usize::from(survives), "{profile:?}");
        end.hear(&ack(1));
        assert_eq!(end.it.state() == State::Established, survives, "{profile:?}");
    }
}

#[test]
fn fin_beyond_closed_window_is_accepted() {
    let mut end = with_receive_buffer(Profile::Linux6_18, 10_000);
    let big = Segment { payload_bytes: 60_000, ..segment(Flags::ACK | Flags::PSH, 1, 1) };
    assert_eq!(end.hear(&big).last().map(|answer| answer.window), Some(0));
    let answer = end.hear(&segment(Flags::ACK | Flags::FIN, 60_001, 1));
    assert_eq!(answer[0].acknowledgment, SequenceNumber::new(60_002));
}

#[test]
fn fin_ends_the_report_of_a_duplicate() {
    let mut end = Endpoint::accepted(Profile::Linux6_18.config());
    end.hear(&Segment { payload_bytes: 1000, ..segment(Flags::ACK, 1, 1) });
    end.it.read(end.now, 1000);
    end.hear(&Segment { payload_bytes: 1000, ..segment(Flags::ACK | Flags::FIN, 1, 1) });
    let answer = end.wait_millis(300).pop().map(|(_, answer)| answer).unwrap();
    assert_eq!(answer.acknowledgment, SequenceNumber::new(1002));
    assert!(answer.options.sack.is_empty());
}

#[test]
fn fin_with_old_ack_is_accepted() {
    let mut end = Endpoint::accepted(Profile::Linux6_18.config());
    end.it.close();
    end.sent();
    end.hear(&Segment { sequence: SequenceNumber::new(2), ..ack(2) });
    end.hear(&segment(Flags::ACK | Flags::FIN, 1, 1));
    assert!(end.events().contains(&Event::PeerFinished));
}

#[test]
fn retransmission_keeps_record_boundaries() {
    let mut end = Endpoint::accepted(Profile::Linux6_18.config());
    for _ in 0..3 {
        let record = WriteFlags { ends_record: true, ..WriteFlags::default() };
        assert_eq!(end.it.write_as(200, record), 200);
        end.sent();
    }
    let again = end.wait_millis(2000).into_iter().map(|(_, sent)| sent.payload_bytes);
    assert!(again.clone().count() > 0);
    assert!(again.into_iter().all(|bytes| bytes <= 200));
}

#[test]
fn idle_time_counts_from_handshake() {
    let mut end = Endpoint::accepted(Profile::Linux6_18.config());
    end.wait_millis(1000);
    let since = end.it.tcp_info(end.now).since_data_received.unwrap();
    assert_eq!(since, Span::from_millis(1000));
}

#[test]
fn window_opening_after_pause_restarts_slow_start() {
    let mut config = Profile::Linux6_18.config();
    config.initial_window = 20;
    let mut end = Endpoint::accepted(config);
    end.write(20_000);
    end.now += Span::from_millis(100);
    end.hear(&Segment { window: 0, ..ack(20_001) });
    assert!(end.it.congestion_window() > 20);
    end.it.write(10_000);
    end.sent();
    end.wait_millis(60_000);
    end.hear(&ack(20_001));
    assert_eq!(end.it.congestion_window(), 20);
}

#[test]
fn merged_segments_reveal_original_size() {
    for (merged_from, expected) in [(Some(1000), 1000), (None, 1460)] {
        let mut config = Profile::Linux6_18.config();
        config.receiving.merged_from = merged_from;
        let mut end = Endpoint::accepted(config);
        end.hear(&Segment { payload_bytes: 9000, ..segment(Flags::ACK, 1, 1) });
        assert_eq!(end.it.tcp_info(end.now).receive_mss_bytes, Some(expected));
    }
}

#[test]
fn cookies_keep_little_of_a_syn() {
    let stamped = Options {
        mss: Some(1400),
        window_scale: Some(3),
        timestamps: Some(Timestamps { value: 5, echo: 0 }),
        ..OFFER
    };
    for (offer, shift, bytes) in
        [(stamped, Some(3), 1300 - 12), (Options { timestamps: None, ..stamped }, Some(0), 1300)]
    {
        let mut config = Profile::Linux6_18.config();
        config.receiving.syn_cookies = true;
        let mut end = Endpoint::listening(config);
        let syn = Segment { options: offer, window: 60_000, ..segment(Flags::SYN, 0, 0) };
        let answer = end.hear(&syn);
        assert_eq!(answer[0].options.sack_permitted, offer.timestamps.is_some());
        let mut last = ack(1);
        last.options.timestamps = offer.timestamps;
        end.hear(&last);
        let known = end.it.tcp_info(end.now);
        assert_eq!((known.send_window_shift, known.send_mss_bytes), (shift, bytes));
    }
}

#[test]
fn lost_urgent_segments_go_one_by_one() {
    let mut end = Endpoint::accepted(Profile::Linux6_18.config());
    end.write(5000);
    let urgent = WriteFlags { urgent: true, ..WriteFlags::default() };
    end.it.write_as(1, urgent);
    end.sent();
    end.now += Span::from_millis(50);
    let again: Vec<Segment> = [3001, 4001, 5002]
        .into_iter()
        .flat_map(|right| end.hear(&Segment { options: block(2001, right), ..ack(1) }))
        .collect();
    let pushed: Vec<bool> = again.iter().map(|sent| sent.flags.contains(Flags::PSH)).collect();
    assert_eq!(pushed, [false, false]);
}

/// Linux 7.3 does not read the clock for autotuning: data counts as read at the last segment (`tcp_mstamp`).
#[test]
fn late_read_counts_as_of_last_segment_on_linux_7() {
    // On 6.18 the late read ends a round trip, and begins another one.
    for (profile, expected) in [(Profile::Linux6_18, 66_000), (Profile::Linux7_3, 70_000)] {
        let mut end = Endpoint::accepted(profile.config());
        let mut next = 1;
        let mut hear = |end: &mut Endpoint, bytes: u32| {
            let data = segment(Flags::ACK | Flags::PSH, next, 1);
            end.hear(&Segment { payload_bytes: bytes, ..data });
            next += bytes;
        };
        let space = |end: &Endpoint| end.it.tcp_info(end.now).receive_space_bytes.unwrap();
        hear(&mut end, 1000);
        end.it.read(end.now, 1000);
        // A window's worth of data takes a round trip.
        end.wait_millis(100);
        hear(&mut end, 65_000);
        end.it.read(end.now, 65_000);
        assert_eq!(end.it.tcp_info(end.now).receiver_rtt, Some(Span::from_millis(100)));
        assert_eq!(space(&end), 66_000);
        end.wait_millis(10);
        hear(&mut end, 60_000);
        end.wait_millis(200);
        end.it.read(end.now, 60_000);
        hear(&mut end, 10_000);
        end.it.read(end.now, 10_000);
        assert_eq!(space(&end), expected, "{}", profile.name());
    }
}

/// A full buffer is packed into pages, each of which is free once it is read (`tcp_collapse`).
#[test]
fn packed_data_is_released_as_it_is_read() {
    let mut end = with_receive_buffer(Profile::Linux7_3, 50_000);
    let mut received = 0;
    let mut window = u16::MAX;
    while window > 0 {
        // Small packets take more memory than the window was reckoned with.
        let bytes = if received == 0 { 1460 } else { 600 };
        let data = segment(Flags::ACK | Flags::PSH, 1 + received, 1);
        let answer = end.hear(&Segment { payload_bytes: bytes, ..data });
        window = answer.last().map_or(window, |answer| answer.window);
        received = end.it.readable_bytes();
        assert!(received < 200_000, "the window never closes");
    }
    let held = end.it.readable_bytes();
    assert!(held > 100_000 * 6 / 10, "{held} bytes: they were packed");
    end.it.read(end.now, held / 2);
    let opened = end.sent().last().map(|answer| answer.window);
    assert!(opened > Some(0), "half of it was read: {opened:?}");
}

/// So is data that waited behind a hole.
#[test]
fn data_behind_a_hole_is_released_as_it_is_read() {
    let mut end = with_receive_buffer(Profile::Linux6_18, 50_000);
    let data = |number: u32| Segment {
        payload_bytes: 1460,
        ..segment(Flags::ACK | Flags::PSH, 1 + 1460 * number, 1)
    };
    (1..36).chain([0]).for_each(|number| drop(end.hear(&data(number))));
    let held = end.it.readable_bytes();
    assert_eq!(held, 36 * 1460);
    let window = |end: &mut Endpoint| end.hear(&data(0)).last().map_or(0, |answer| answer.window);
    let before = window(&mut end);
    end.it.read(end.now, held / 2);
    end.sent();
    let after = window(&mut end);
    assert!(u32::from(after) >= u32::from(before) + held / 3, "{before} and then {after}");
}

#[test]
fn segments_beyond_the_window_are_counted() {
    let mut end = with_receive_buffer(Profile::Linux7_3, 5_000);
    let data = |from: u32, bytes: u32| Segment {
        payload_bytes: bytes,
        ..segment(Flags::ACK | Flags::PSH, from, 1)
    };
    end.hear(&data(1, 1000));
    end.hear(&data(100_001, 1000));
    assert_eq!(end.it.refused_segments().beyond_window, 1);
    end.hear(&data(1001, 60_000));
    assert_eq!(end.it.refused_segments().beyond_window, 2, "it reaches beyond the window");
    end.it.read(end.now, 1000);
    end.sent();
    end.hear(&data(1001, 60_000));
    end.hear(&data(61_001, 1000));
    let expected = RefusedSegments { beyond_window: 3, ..RefusedSegments::default() };
    assert_eq!(end.it.refused_segments(), expected, "one was taken while nothing else waited");
}

#[test]
fn full_device_is_retried_until_user_timeout() {
    let mut config = Profile::Linux6_18.config();
    config.liveness.user_timeout = Some(Span::from_millis(3000));
    let mut full = config.clone();
    full.path.is_device_full = true;
    let mut end = Endpoint::accepted(config);
    end.it.reconfigure(end.now, std::sync::Arc::new(full));
    assert!(end.write(24).is_empty());
    assert!(end.wait_millis(3000).is_empty());
    assert_eq!(end.it.tcp_info(end.now).unanswered_probes, Some(6));
    end.wait_millis(1000);
    assert!(end.events().contains(&Event::TimedOut));
}

#[test]
fn icmp_error_limits_mtu_search() {
    let mut config = Profile::Linux6_18.config();
    config.initial_window = 20;
    config.path.probing = fairwind_tcp::MtuProbing::Always;
    config.path.probing_base = 500;
    let mut end = Endpoint::accepted(config);
    let error = fairwind_tcp::IcmpError::TooLarge { mtu: 700 };
    end.it.on_icmp_error(end.now, SequenceNumber::new(1), error);
    let sent = end.write(30_000);
    assert_eq!(sent[0].payload_bytes, u32::midpoint(540, 700) - 40);
}
