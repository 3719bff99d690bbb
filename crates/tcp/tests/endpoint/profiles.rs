//! Differences between profiles.

use crate::peer::{Endpoint, OFFER, ack, blocks, data, segment, stamped};
use fairwind_tcp::{Config, Event, Profile, State};
use fairwind_units::Span;
use fairwind_wire::{Flags, Options, Segment, Timestamps};

fn plain(profile: Profile) -> Endpoint {
    Endpoint::accepted(Config { timestamps: false, ..profile.config() })
}

fn stamping(profile: Profile) -> Endpoint {
    let timestamps = Some(Timestamps { value: 1000, echo: 0 });
    Endpoint::accepted_with(profile.config(), Options { timestamps, ..OFFER })
}

const OLD: [Profile; 2] = [Profile::Linux2_6, Profile::FreeBsd5_4];
const CHALLENGING: [Profile; 4] =
    [Profile::Rfc, Profile::Linux3_16, Profile::Linux6_18, Profile::FreeBsd14];

#[test]
fn reset_in_window_depends_on_profile() {
    let reset = segment(Flags::RST, 500, 0);
    let mut end = plain(Profile::Linux2_6);
    assert!(end.hear(&reset).is_empty());
    assert_eq!((end.it.state(), end.events()), (State::Closed, vec![Event::Reset]));
    let mut end = plain(Profile::FreeBsd5_4);
    assert!(end.hear(&reset).is_empty(), "no challenge before RFC 5961");
    assert_eq!(end.it.state(), State::Established);
    for profile in CHALLENGING {
        let mut end = plain(profile);
        assert_eq!(end.hear(&reset).len(), 1, "{}", profile.name());
        assert_eq!(end.it.state(), State::Established);
    }
}

#[test]
fn syn_in_window_depends_on_profile() {
    let syn = segment(Flags::SYN, 500, 0);
    for profile in OLD {
        let mut end = plain(profile);
        assert!(end.hear(&syn)[0].flags.contains(Flags::RST), "{}", profile.name());
        assert_eq!(end.it.state(), State::Closed);
    }
    for profile in CHALLENGING {
        let mut end = plain(profile);
        assert_eq!(end.hear(&syn)[0].flags, Flags::ACK, "{}", profile.name());
        assert_eq!(end.it.state(), State::Established);
    }
}

/// Linux took a reset there from 4.7 on.
#[test]
fn reset_at_sack_edge_counts_in_linux() {
    for (profile, state) in
        [(Profile::Linux3_16, State::Established), (Profile::Linux6_18, State::Closed)]
    {
        let mut end = plain(profile);
        end.hear(&data(2001, 1000));
        end.hear(&segment(Flags::RST, 3001, 0));
        assert_eq!(end.it.state(), state, "{}", profile.name());
    }
}

/// RFC 7323 §5.5 has 24 days; Linux allows for clocks of microseconds since 6.7.
#[test]
fn timestamp_lifetime_depends_on_profile() {
    for (profile, taken) in [
        (Profile::Rfc, 0),
        (Profile::Linux3_16, 0),
        (Profile::FreeBsd14, 0),
        (Profile::Linux6_18, 100),
    ] {
        let mut end = stamping(profile);
        end.hear(&stamped(ack(1), 5000, 0));
        end.wait(Span::from_secs(3600));
        end.hear(&stamped(data(1, 100), 1, 0));
        assert_eq!(end.it.readable_bytes(), taken, "{}", profile.name());
    }
}

/// Tolerated age of data relative to the echo in ticks, for either buffer accounting.
#[test]
fn linux_tolerates_timestamp_one_tick_old() {
    for (profile, taken) in [
        (Profile::Rfc, 0),
        (Profile::FreeBsd14, 0),
        (Profile::Linux2_6, 100),
        (Profile::Linux6_18, 100),
    ] {
        let mut end = stamping(profile);
        end.hear(&stamped(ack(1), 5000, 0));
        end.hear(&stamped(data(1, 100), 4999, 0));
        assert_eq!(end.it.readable_bytes(), taken, "{}", profile.name());
    }
}

#[test]
fn linux_accepts_reordered_ack() {
    for (profile, answers) in [(Profile::Rfc, 1), (Profile::Linux3_16, 0), (Profile::Linux6_18, 0)]
    {
        let mut end = stamping(profile);
        end.hear(&stamped(ack(1), 5000, 0));
        let answer = end.hear(&stamped(ack(1), 4950, 0));
        assert_eq!(answer.len(), answers, "{}", profile.name());
    }
}

/// The same below the next number, where Linux 6.18 does not answer.
#[test]
fn old_ack_is_answered_except_in_linux() {
    for (profile, answers) in [(Profile::Rfc, 1), (Profile::Linux3_16, 1), (Profile::Linux6_18, 0)]
    {
        let mut end = stamping(profile);
        end.hear(&stamped(data(1, 100), 5000, 0));
        end.wait_millis(500);
        let answer = end.hear(&stamped(segment(Flags::ACK, 1, 1), 4950, 0));
        assert_eq!(answer.len(), answers, "{}", profile.name());
    }
}

#[test]
fn old_freebsd_sends_no_dsack() {
    for profile in Profile::ALL {
        let mut end = plain(profile);
        end.hear(&data(1, 1000));
        end.wait_millis(500);
        let mut answers = end.hear(&data(1, 1000));
        answers.extend(end.wait_millis(500).into_iter().map(|(_, answer)| answer));
        let expected = if profile == Profile::FreeBsd5_4 { vec![] } else { vec![(1, 1001)] };
        assert_eq!(blocks(&answers[0]), expected, "{}", profile.name());
    }
}

/// Acknowledgments of disorder: all but three are compressed in Linux since 4.18, with ample and
/// with default buffers.
#[test]
fn only_linux_6_18_compresses_acks() {
    for profile in Profile::ALL {
        for config in [profile.config(), profile.system_config()] {
            let mut end = Endpoint::accepted(Config { timestamps: false, ..config });
            // Past the quick acknowledgments of the beginning.
            for number in 0..40 {
                end.hear(&data(1 + 1000 * number, 1000));
                end.it.read(end.now, 1000);
                end.sent();
            }
            end.wait_millis(500);
            let disorder = (0..6).map(|number| data(41_001 + 1000 * number, 1000));
            let immediate: usize = disorder.map(|segment| end.hear(&segment).len()).sum();
            let merges = matches!(profile, Profile::Linux6_18 | Profile::Linux7_3);
            assert_eq!(immediate, if merges { 3 } else { 6 }, "{}", profile.name());
            assert_eq!(end.wait_millis(3).len(), usize::from(merges));
        }
    }
}

/// Retransmissions of an unanswered SYN-ACK.
#[test]
fn syn_ack_retries_match_profile_table() {
    for (profile, repetitions) in [
        (Profile::Rfc, 7),
        (Profile::Linux2_6, 5),
        (Profile::Linux3_16, 5),
        (Profile::Linux6_18, 5),
        (Profile::FreeBsd5_4, 3),
        (Profile::FreeBsd14, 3),
    ] {
        let mut end = Endpoint::answering(profile.config(), OFFER);
        let sent: Vec<Segment> =
            end.wait(Span::from_secs(1000)).into_iter().map(|(_, sent)| sent).collect();
        assert_eq!(sent.len(), repetitions, "{}", profile.name());
    }
}
