//! Growth of a receive buffer that counts memory.

use crate::pair::{End, Pair};
use fairwind_tcp::{Config, Profile};
use fairwind_units::{Instant, Span};

/// ACKs that a bulk transfer to `server` brought, for each data segment, until `span` has passed.
fn acknowledgments_per_segment(pair: &mut Pair, span: Span) -> f64 {
    let until = pair.now + span;
    pair.dialogue.clear();
    pair.run_until(until);
    let data = pair.data_from(End::Client).len();
    let answers = pair.dialogue.iter().filter(|line| line.from == End::Server).count();
    #[expect(clippy::cast_precision_loss, reason = "counts of segments")]
    return answers as f64 / data as f64;
}

/// Linux `tcp_grow_window`: while the window grows, every segment is acknowledged; afterwards every
/// second one.
#[test]
fn growing_receiver_acknowledges_every_segment() {
    let config = || Config { initial_ssthresh: Some(40), ..Profile::Linux6_18.config() };
    let mut pair = Pair::established(config(), config());
    pair.write(End::Client, 200 << 20);
    let first = acknowledgments_per_segment(&mut pair, Span::from_millis(350));
    assert!(first > 0.9, "{first} ACKs for each segment");
    let later = acknowledgments_per_segment(&mut pair, Span::from_secs(20));
    assert!(later < 0.7, "{later} ACKs for each segment");
}

/// A configured window is what full-sized segments leave room for.
#[test]
fn fixed_receive_window_bounds_flight() {
    for profile in Profile::ALL {
        let client = profile.config();
        let mut server = client.clone();
        server.set_receive_window(100_000);
        let mut pair = Pair::established(client, server);
        pair.write(End::Client, 40 << 20);
        pair.run_until(Instant::from_secs(20));
        pair.dialogue.clear();
        pair.run_until(Instant::from_secs(21));
        let widest = pair.dialogue.iter().filter(|line| line.from == End::Server);
        let shift = pair.server.tcp_info(pair.now).receive_window_shift.unwrap_or(0);
        let widest = widest.map(|line| u32::from(line.segment.window) << shift).max();
        assert!(widest <= Some(101_500), "{profile:?} offered {widest:?}");
        assert!(widest >= Some(95_000), "{profile:?} offered {widest:?}");
    }
}
