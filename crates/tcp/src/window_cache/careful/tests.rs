use crate::Lesson;
use crate::window_cache::testing::{Host, lesson, peer};
use crate::window_cache::{
    CarefulResumeConfig, ConnectionId, Opener, PolicyConfig, Resumption, Sharing, Unused,
};
use fairwind_units::Span;

fn host() -> Host {
    with(CarefulResumeConfig::USUAL)
}

fn with(careful: CarefulResumeConfig) -> Host {
    Host::new(&Sharing::usual(PolicyConfig::CarefulResume(careful)))
}

#[test]
fn half_of_a_saved_window_may_be_jumped_to_and_the_least_round_trip_is_saved() {
    let mut host = host();
    host.ends(1, 1, lesson(300));
    let expected = Resumption {
        jump: 150,
        saved_rtt: Span::from_millis(80),
        retreat: CarefulResumeConfig::USUAL.retreat,
    };
    assert_eq!(host.incoming(2, 1).resumption, Some(expected));
}

#[test]
fn the_largest_jump_bounds_it() {
    let mut host =
        with(CarefulResumeConfig { largest_jump: Some(40), ..CarefulResumeConfig::USUAL });
    host.ends(1, 1, lesson(300));
    assert_eq!(host.incoming(2, 1).resumption.map(|resumption| resumption.jump), Some(40));
}

/// The initial window is 2: 8 is the least that is saved; of slow start that is 16.
#[test]
fn windows_below_four_initial_ones_are_not_saved_and_those_of_slow_start_by_half() {
    let slow_start = |window| Lesson { slow_start_threshold: None, ..lesson(window) };
    for (told, saved) in
        [(lesson(7), None), (lesson(8), Some(8)), (slow_start(15), None), (slow_start(16), Some(8))]
    {
        let mut host = host();
        host.ends(1, 1, told);
        assert_eq!(host.list(1).first().map(|entry| entry.window), saved);
    }
}

#[test]
fn one_connection_at_a_time_uses_a_saved_set() {
    let mut host = host();
    host.ends(1, 1, lesson(300));
    assert!(host.opens(2, 1, 1, Opener::Peer).resumption.is_some());
    assert_eq!(host.asks(2, 1, 2, Opener::Peer), Err(Unused::InUse));
    assert_eq!(host.asks(2, 2, 3, Opener::Peer), Err(Unused::Unknown), "of another peer");
    host.cache.on_release(peer(1), ConnectionId(2), false);
    assert!(
        host.opens(2, 1, 3, Opener::Peer).resumption.is_none(),
        "only who has it gives it back"
    );
    host.cache.on_release(peer(1), ConnectionId(1), false);
    assert!(host.opens(2, 1, 4, Opener::Peer).resumption.is_some());
}

#[test]
fn a_retreat_deletes_the_saved_set() {
    let mut host = host();
    host.ends(1, 1, lesson(300));
    host.opens(2, 1, 1, Opener::Peer);
    host.cache.on_release(peer(1), ConnectionId(1), true);
    assert!(host.cache.is_empty());
}

#[test]
fn a_set_is_not_used_past_its_lifetime() {
    let mut host = host();
    host.ends(1, 1, lesson(300));
    assert!(host.opens(602, 1, 1, Opener::Peer).resumption.is_none());
    assert!(host.cache.is_empty());
}

#[test]
fn what_is_not_validated_is_not_saved() {
    let mut host = host();
    host.ends(1, 1, Lesson { is_resuming: true, ..lesson(300) });
    assert!(host.cache.is_empty());
}
