use crate::Lesson;
use crate::window_cache::testing::{Host, lesson, peer};
use crate::window_cache::{
    ConnectionId, Interdependence, Moment, Opener, PolicyConfig, Share, Sharing, TimeoutSeed,
};
use fairwind_units::{Instant, Span};

fn host(ensemble: bool) -> Host {
    let shared = Interdependence { ensemble, largest_window: None };
    Host::new(&Sharing::usual(PolicyConfig::Interdependence(shared)))
}

fn of(connection: u64, window: u32) -> Lesson {
    let connection = ConnectionId(connection);
    Lesson { connection, slow_start_threshold: Some(18), ..lesson(window) }
}

/// What the driver does before a connection opens: those that are open tell what they have.
fn samples(host: &mut Host, windows: &[(u64, u32)]) {
    let asked = host.cache.companions(peer(1));
    for &(connection, window) in windows {
        assert!(asked.contains(&ConnectionId(connection)), "{asked:?}");
        host.learns(1, 1, of(connection, window), Moment::Sampled);
    }
}

/// RFC 9040 §6.1.
#[test]
fn a_later_connection_begins_with_what_an_earlier_one_left() {
    let mut host = host(false);
    host.ends(1, 1, Lesson { slow_start_threshold: Some(24), ..lesson(32) });
    let advice = host.outgoing(2, 1);
    assert_eq!(advice.window, Some(32));
    assert_eq!(advice.slow_start_threshold, Some(24));
    let (rtt, variation) = (Span::from_millis(100), Span::from_millis(20));
    assert_eq!(advice.timeout, Some(TimeoutSeed::Estimator { rtt, variation }));
}

/// RFC 9040 §6.2: here the mean of old and new.
#[test]
fn what_is_known_is_merged_with_what_is_found() {
    let mut host = host(false);
    host.ends(1, 1, Lesson { slow_start_threshold: Some(24), ..lesson(32) });
    let second = Lesson {
        slow_start_threshold: Some(12),
        smoothed_rtt: Some(Span::from_millis(200)),
        rtt_variation: Span::from_millis(60),
        ..lesson(8)
    };
    host.ends(2, 1, second);
    let advice = host.outgoing(3, 1);
    assert_eq!((advice.window, advice.slow_start_threshold), (Some(20), Some(18)));
    let (rtt, variation) = (Span::from_millis(150), Span::from_millis(40));
    assert_eq!(advice.timeout, Some(TimeoutSeed::Estimator { rtt, variation }));
}

#[test]
fn a_connection_that_never_set_a_threshold_leaves_the_known_one() {
    let mut host = host(false);
    host.ends(1, 1, Lesson { slow_start_threshold: Some(24), ..lesson(32) });
    host.ends(2, 1, Lesson { slow_start_threshold: None, ..lesson(32) });
    assert_eq!(host.outgoing(3, 1).slow_start_threshold, Some(24));
}

/// 30 and 24 segments make 54, of which three connections have 18 each; two thresholds of 18 make 12 for each.
#[test]
fn a_connection_that_joins_takes_an_equal_share_and_the_sum_stays() {
    let mut host = host(true);
    for id in [1, 2] {
        host.opens(0, 1, id, Opener::Peer);
        while host.cache.poll_share().is_some() {}
    }
    samples(&mut host, &[(1, 30), (2, 24)]);
    let advice = host.opens(1, 1, 3, Opener::Peer);
    assert_eq!(advice.window, Some(18));
    assert_eq!(advice.slow_start_threshold, Some(12));
    let share = |id| {
        let connection = ConnectionId(id);
        Some(Share { connection, window: 18, slow_start_threshold: Some(12) })
    };
    assert_eq!(host.cache.poll_share(), share(1));
    assert_eq!(host.cache.poll_share(), share(2));
    assert_eq!(host.cache.poll_share(), None);
}

/// Of 10 segments three connections have 4, 3 and 3; of one, where each must have one, nothing is left over.
#[test]
fn what_cannot_be_divided_stays_with_those_that_were_there() {
    for (sum, shares) in [([6, 4], [4, 3, 3]), ([1, 0], [1, 1, 1])] {
        let mut host = host(true);
        for id in [1, 2] {
            host.opens(0, 1, id, Opener::Peer);
            while host.cache.poll_share().is_some() {}
        }
        samples(&mut host, &[(1, sum[0]), (2, sum[1])]);
        let newcomer = host.opens(1, 1, 3, Opener::Peer).window;
        let others = std::iter::from_fn(|| host.cache.poll_share()).map(|share| share.window);
        assert_eq!(others.chain(newcomer).collect::<Vec<_>>(), shares);
    }
}

#[test]
fn who_has_left_is_not_shared_with_any_longer() {
    let mut host = host(true);
    host.opens(0, 1, 1, Opener::Peer);
    host.cache.on_over(peer(1), ConnectionId(1));
    assert_eq!(host.cache.companions(peer(1)), []);
    assert_eq!(host.opens(1, 1, 2, Opener::Peer).window, None);
}

#[test]
fn without_ensemble_sharing_open_connections_are_left_alone() {
    let mut host = host(false);
    host.opens(0, 1, 1, Opener::Peer);
    assert_eq!(host.cache.companions(peer(1)), []);
}

#[test]
fn what_is_begun_with_is_bounded() {
    let shared = Interdependence { ensemble: true, largest_window: Some(12) };
    let mut host = Host::new(&Sharing::usual(PolicyConfig::Interdependence(shared)));
    host.ends(1, 1, lesson(32));
    assert_eq!(host.outgoing(2, 1).window, Some(12));
}

#[test]
fn the_oldest_peer_makes_room_for_a_new_one() {
    let shared = Interdependence { ensemble: false, largest_window: None };
    let usual = Sharing::usual(PolicyConfig::Interdependence(shared));
    let mut host = Host::new(&Sharing { entries: 2, ..usual });
    for (second, number) in [(3, 1), (1, 2), (2, 3)] {
        host.ends(second, number, lesson(10));
    }
    let peers: Vec<_> = host.cache.list(Instant::from_secs(4)).iter().map(|one| one.peer).collect();
    assert_eq!(peers, [peer(1), peer(3)]);
}
