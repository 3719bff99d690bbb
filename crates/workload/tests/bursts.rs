//! Bursts, constant rates, pages and replayed writes.

use fairwind_units::{BitRate, ByteCount, Instant, Span};
use fairwind_workload::{
    Application, BurstLength, Client, Exchanges, OnOff, Pace, Pages, Replay, Sampler, Server,
    Steady, Write,
};

const MILLISECOND: u64 = 1_000_000;

fn milliseconds(number: u64) -> Sampler {
    Sampler::Constant(number * MILLISECOND)
}

fn pace(bytes: u64, bits_per_second: u64) -> Pace {
    Pace::new(bytes, ByteCount::new(bytes), BitRate::from_bits_per_second(bits_per_second))
}

fn on_off(length: BurstLength, silence: Sampler, pace: Option<Pace>) -> Application {
    Application::OnOff(Box::new(OnOff::new(length, silence, pace, 3)))
}

/// What is written until `end`, with the instants, where everything is sent at once.
fn writes(application: &mut Application, end: Instant) -> Vec<(Instant, u64)> {
    application.begin(Instant::ZERO);
    let mut written = Vec::new();
    while application.next_write() < end {
        let now = application.next_write();
        while let Some(bytes) = application.poll_write(now, 0) {
            written.push((now, bytes));
        }
    }
    written
}

#[test]
fn constant_application_has_exact_long_term_rate() {
    // 100 B at 3 Mbit/s: one every 266 666 and 2/3 ns, so 11 250 000 in 3000 s.
    let mut steady = Application::Steady(Box::new(Steady::new(pace(100, 3_000_000))));
    steady.begin(Instant::ZERO);
    let mut last = Instant::ZERO;
    for _ in 0..30_001 {
        last = steady.next_write();
        assert_eq!(steady.poll_write(last, 0), Some(100));
    }
    assert_eq!(last, Instant::from_secs(8), "30 000 intervals of 800 bits");
}

#[test]
fn rate_burst_writes_for_its_duration() {
    // A message every 10 ms; bursts of 25 ms have three, at 0, 10 and 20 ms; silence of 75 ms.
    let burst = BurstLength::Time(milliseconds(25));
    let mut application = on_off(burst, milliseconds(75), Some(pace(1000, 800_000)));
    let found = writes(&mut application, Instant::from_millis(201));
    let at = |milliseconds| (Instant::from_millis(milliseconds), 1000);
    assert_eq!(found, [at(0), at(10), at(20), at(100), at(110), at(120), at(200)]);
}

#[test]
fn volume_burst_lasts_volume_over_rate() {
    // 2500 B in messages of 1000 B every 10 ms: 30 ms, and then 70 ms of silence.
    let burst = BurstLength::Volume(Sampler::Constant(2500));
    let mut application = on_off(burst, milliseconds(70), Some(pace(1000, 800_000)));
    let found = writes(&mut application, Instant::from_millis(111));
    let at = |milliseconds, bytes| (Instant::from_millis(milliseconds), bytes);
    assert_eq!(found, [at(0, 1000), at(10, 1000), at(20, 500), at(100, 1000), at(110, 1000)]);
}

#[test]
fn greedy_burst_fills_buffer_for_its_duration() {
    let mut application = on_off(BurstLength::Time(milliseconds(50)), milliseconds(50), None);
    application.begin(Instant::ZERO);
    assert_eq!(application.poll_write(Instant::ZERO, 0), Some(65_536));
    assert!(application.is_filling());
    assert_eq!(application.poll_write(Instant::from_millis(1), 65_536), None, "no room");
    assert_eq!(application.next_write(), Instant::from_millis(50), "its time is over then");
    assert_eq!(application.poll_write(Instant::from_millis(20), 20_000), Some(65_536));
    assert_eq!(application.poll_write(Instant::from_millis(50), 0), None);
    assert!(!application.is_filling());
    assert_eq!(application.next_write(), Instant::from_millis(100));
    assert_eq!(application.poll_write(Instant::from_millis(100), 0), Some(65_536));
    application.end();
    assert_eq!(application.next_write(), Instant::MAX);
}

#[test]
fn silence_starts_after_last_byte() {
    let burst = BurstLength::Volume(Sampler::Constant(100_000));
    let mut application = on_off(burst, milliseconds(50), None);
    application.begin(Instant::ZERO);
    assert_eq!(application.poll_write(Instant::ZERO, 0), Some(65_536));
    assert_eq!(application.next_write(), Instant::MAX, "it waits for room, not for the clock");
    let room = Instant::from_millis(7);
    assert_eq!(application.poll_write(room, 1000), Some(34_464));
    assert_eq!(application.poll_write(room, 0), None);
    assert_eq!(application.next_write(), Instant::from_millis(57));
}

#[test]
fn drawn_bursts_offer_the_load_of_their_means() {
    // 100 kbit/s for 0.2 s of each 1.0 s on average: 20 kbit/s, which is 2500 B/s.
    let exponential = |milliseconds: f64| Sampler::Exponential { mean: milliseconds * 1e6 };
    let burst = BurstLength::Time(exponential(200.0));
    let mut application = on_off(burst, exponential(800.0), Some(pace(100, 100_000)));
    let bytes: u64 = writes(&mut application, Instant::from_secs(20_000)).iter().map(|w| w.1).sum();
    // Every burst begins with a message, so it has half a message more than its time: 50 B/s.
    let expected = 20_000.0 * 2550.0;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let share = bytes as f64 / expected;
    // 20 000 bursts with lengths that vary as much as their mean: 1 % is the standard error.
    assert!((share - 1.0).abs() < 0.03, "{share} of the load is offered, seed 3");
}

#[test]
fn replay_keeps_intervals_and_ends() {
    let write = |milliseconds, bytes| Write { after: Span::from_millis(milliseconds), bytes };
    let recorded = [write(0, 10), write(0, 20), write(35, 30)];
    let mut replay = Application::Replay(Box::new(Replay::new(recorded.into())));
    let start = Instant::from_secs(2);
    assert_eq!(replay.next_write(), Instant::MAX, "it has not begun");
    replay.begin(start);
    assert_eq!(replay.poll_write(start, 0), Some(10));
    assert_eq!(replay.poll_write(start, 0), Some(20));
    assert_eq!(replay.poll_write(start, 0), None);
    assert_eq!(replay.next_write(), start + Span::from_millis(35));
    assert!(!replay.is_finished());
    assert_eq!(replay.poll_write(start + Span::from_millis(40), 0), Some(30));
    assert!(replay.is_finished());
    assert_eq!(replay.next_write(), Instant::MAX);
}

#[test]
fn page_is_main_and_embedded_objects() {
    let pages = Pages {
        main: Sampler::Constant(5000),
        embedded_objects: Sampler::Constant(2),
        embedded: Sampler::Constant(700),
        parsing: milliseconds(30),
        reading: milliseconds(400),
    };
    let exchanges = Exchanges::of_pages(Sampler::Constant(100), pages, 1).limited_to(2);
    let mut client = Application::Client(Box::new(Client::new(exchanges.clone())));
    let mut server = Application::Server(Box::new(Server::new(exchanges)));
    client.begin(Instant::ZERO);
    let mut found = Vec::new();
    while !client.is_finished() {
        let now = client.next_write();
        let request = client.poll_write(now, 0).expect("a request is due");
        assert_eq!(request, 100);
        server.on_read(now, request);
        let response = server.poll_write(server.next_write(), 0).expect("it is answered");
        found.push((now.as_nanos() / MILLISECOND, response));
        // The network takes 10 ms.
        assert_eq!(client.on_read(now + Span::from_millis(10), response), Some(now));
    }
    // Parsed for 30 ms after the main object, read for 400 ms after the last one.
    assert_eq!(found, [(0, 5000), (40, 700), (50, 700), (460, 5000), (500, 700), (510, 700)]);
}

#[test]
fn a_page_may_have_nothing_embedded() {
    let pages = Pages {
        main: Sampler::Constant(5000),
        embedded_objects: Sampler::Constant(0),
        embedded: Sampler::Constant(700),
        parsing: milliseconds(30),
        reading: milliseconds(400),
    };
    let exchanges = Exchanges::of_pages(Sampler::Constant(100), pages, 1);
    let mut client = Application::Client(Box::new(Client::new(exchanges)));
    client.begin(Instant::ZERO);
    assert_eq!(client.poll_write(Instant::ZERO, 0), Some(100));
    client.on_read(Instant::from_millis(10), 5000);
    assert_eq!(client.next_write(), Instant::from_millis(410));
}
