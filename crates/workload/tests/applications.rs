//! Writes of applications and their times.

use fairwind_units::{Instant, Span};
use fairwind_workload::{
    Application, Caller, Client, Exchanges, Greedy, Provider, Sampler, Server, Thin, Transfer,
};
use rand::SeedableRng as _;

fn thin(interval: Sampler, seed: u64) -> Application {
    let mut thin = Application::Thin(Thin::new(Sampler::Constant(120), interval, seed));
    thin.begin(Instant::from_secs(1));
    thin
}

#[test]
fn thin_application_keeps_schedule_when_polled_late() {
    let mut application = thin(Sampler::Constant(150_000_000), 1);
    assert_eq!(application.poll_write(Instant::from_millis(999), 0), None);
    let late = Instant::from_millis(1310);
    let mut written = Vec::new();
    while let Some(bytes) = application.poll_write(late, 0) {
        written.push(bytes);
    }
    assert_eq!(written, [120, 120, 120], "due at 1000, 1150 and 1300 ms");
    assert_eq!(application.next_write(), Instant::from_millis(1450));
    application.end();
    assert_eq!(application.next_write(), Instant::MAX);
}

#[test]
fn the_same_seed_gives_the_same_rhythm() {
    let rhythm = |seed| {
        let mut application = thin(Sampler::Exponential { mean: 1e8 }, seed);
        (0..50)
            .map(|_| {
                let due = application.next_write();
                application.poll_write(due, 0);
                due
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(rhythm(3), rhythm(3));
    assert_ne!(rhythm(3), rhythm(4));
}

#[test]
fn greedy_application_refills_until_volume() {
    let mut endless = Application::Greedy(Greedy::new(None));
    assert_eq!(endless.poll_write(Instant::ZERO, 0), None, "the connection is not open yet");
    endless.begin(Instant::ZERO);
    assert_eq!(endless.poll_write(Instant::ZERO, 40_000), None);
    assert_eq!(endless.poll_write(Instant::ZERO, 30_000), Some(65_536));
    let mut bounded = Application::Greedy(Greedy::new(Some(100_000)));
    bounded.begin(Instant::ZERO);
    assert_eq!(bounded.poll_write(Instant::ZERO, 0), Some(65_536));
    assert!(!bounded.is_finished());
    assert_eq!(bounded.poll_write(Instant::ZERO, 0), Some(34_464));
    assert!(bounded.is_finished());
    assert_eq!(bounded.poll_write(Instant::ZERO, 0), None);
}

#[test]
fn samplers_have_mean_and_minimum_one() {
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(11);
    let samplers = [
        Sampler::Constant(500),
        Sampler::Uniform { least: 100.0, greatest: 900.0 },
        Sampler::Normal { mean: 500.0, deviation: 50.0 },
        Sampler::Exponential { mean: 500.0 },
    ];
    for sampler in samplers {
        let draws: Vec<u64> = (0..20_000).map(|_| sampler.draw(&mut random)).collect();
        let mean = draws.iter().sum::<u64>() / 20_000;
        // Four standard errors of the widest of them, 4 x 500 / sqrt(20000) = 14.
        assert!(mean.abs_diff(500) <= 14, "{sampler:?} has mean {mean}");
        assert!(draws.iter().all(|&draw| draw >= 1));
    }
    let span = Span::from_millis(150);
    assert_eq!(Sampler::Constant(150_000_000).draw(&mut random), span.as_nanos());
}

#[test]
fn serialised_application_continues_identically() {
    let interval = Sampler::Exponential { mean: 1.0e8 / 3.0 };
    let mut here = thin(interval, 5);
    here.poll_write(Instant::from_secs(9), 0);
    let text = serde_json::to_string(&here).expect("writes");
    let mut there: Application = serde_json::from_str(&text).expect("reads");
    for second in 9..40 {
        let now = Instant::from_secs(second);
        assert_eq!(here.poll_write(now, 0), there.poll_write(now, 0));
        assert_eq!(here.next_write(), there.next_write());
    }
}

/// Requests of 300 B, responses of 1 to 9999 B, 5 ms to think, a pause of about 100 ms.
fn exchanges(seed: u64) -> Exchanges {
    let response = Sampler::Uniform { least: 1.0, greatest: 9_999.0 };
    Exchanges::new(Sampler::Constant(300), response, seed)
        .with_times(Sampler::Constant(5_000_000), Sampler::Exponential { mean: 1e8 })
}

fn pair(exchanges: &Exchanges) -> (Application, Application) {
    let client = Application::Client(Box::new(Client::new(exchanges.clone())));
    (client, Application::Server(Box::new(Server::new(exchanges.clone()))))
}

#[test]
fn client_and_server_agree_on_sizes() {
    let (mut client, mut server) = pair(&exchanges(3));
    client.begin(Instant::ZERO);
    let mut now = Instant::ZERO;
    for _ in 0..100 {
        now = client.next_write();
        let request = client.poll_write(now, 0).unwrap();
        assert_eq!(client.poll_write(now, 0), None, "one request at a time");
        // It comes in two pieces; the first does not suffice.
        server.on_read(now, request - 1);
        assert_eq!(server.next_write(), Instant::MAX);
        let arrived = now + Span::from_millis(20);
        server.on_read(arrived, 1);
        assert_eq!(server.next_write(), arrived + Span::from_millis(5));
        assert_eq!(server.poll_write(arrived, 0), None, "the server thinks");
        let answered = server.next_write();
        let response = server.poll_write(answered, 0).unwrap();
        assert_eq!(client.on_read(answered, response - 1), None);
        let read = answered + Span::from_millis(20);
        assert_eq!(client.on_read(read, 1), Some(now), "asked then");
        assert!(client.next_write() >= read);
    }
    assert!(now > Instant::from_secs(5), "100 pauses of 0.1 s in the mean");
    assert!(!client.is_finished());
}

#[test]
fn a_client_is_finished_with_its_last_response() {
    let (mut client, mut server) = pair(&exchanges(1).limited_to(2));
    client.begin(Instant::ZERO);
    for exchange in 0..2 {
        assert!(!client.is_finished(), "before exchange {exchange}");
        let now = client.next_write();
        server.on_read(now, client.poll_write(now, 0).unwrap());
        assert!(!client.is_finished(), "while it waits for response {exchange}");
        let answered = server.next_write();
        let response = server.poll_write(answered, 0).unwrap();
        assert!(client.on_read(answered, response).is_some());
    }
    assert!(client.is_finished());
    assert_eq!(client.next_write(), Instant::MAX);
}

#[test]
fn requests_before_end_are_answered() {
    let (mut client, mut server) = pair(&exchanges(1));
    client.begin(Instant::ZERO);
    let request = client.poll_write(Instant::ZERO, 0).unwrap();
    client.end();
    assert!(!client.is_finished(), "it waits for the response");
    server.on_read(Instant::ZERO, request);
    server.end();
    assert!(!server.is_finished(), "it owes the response");
    let answered = server.next_write();
    let response = server.poll_write(answered, 0).unwrap();
    assert!(server.is_finished());
    assert_eq!(client.on_read(answered, response), Some(Instant::ZERO));
    assert!(client.is_finished());
    assert_eq!(client.next_write(), Instant::MAX);
}

#[test]
fn server_abandons_incomplete_request() {
    let (_, mut server) = pair(&exchanges(1));
    server.on_read(Instant::ZERO, 10);
    server.end();
    assert!(server.is_finished());
}

#[test]
fn exchanges_without_pause_are_immediate() {
    let sizes = Sampler::Constant(100);
    let (mut client, mut server) = pair(&Exchanges::new(sizes.clone(), sizes, 1));
    let now = Instant::from_secs(1);
    client.begin(now);
    for _ in 0..3 {
        server.on_read(now, client.poll_write(now, 0).unwrap());
        assert_eq!(client.on_read(now, server.poll_write(now, 0).unwrap()), Some(now));
    }
}

fn transfer(request: u64) -> (Application, Application) {
    let volume = Sampler::Pareto { least: 1000.0, shape: 1.2 };
    let transfer = Transfer::new(Sampler::Constant(request), volume, 0);
    let caller = Application::Caller(Box::new(Caller::new(transfer.clone())));
    let provider = Application::Provider(Box::new(Provider::new(transfer)));
    (caller.seeded(5), provider.seeded(5))
}

#[test]
fn server_sends_immediately_without_request() {
    let (mut caller, mut provider) = transfer(0);
    assert_eq!(provider.poll_write(Instant::ZERO, 0), None, "nobody has called");
    caller.begin(Instant::ZERO);
    provider.begin(Instant::ZERO);
    assert_eq!(caller.poll_write(Instant::ZERO, 0), None);
    let mut written = 0;
    while let Some(bytes) = provider.poll_write(Instant::ZERO, 0) {
        written += bytes;
    }
    assert!(written >= 1000 && provider.is_finished(), "{written}");
    assert!(caller.ends_with_other() && !caller.is_finished());
    caller.end();
    assert!(caller.is_finished());
}

#[test]
fn request_precedes_its_response() {
    let (mut caller, mut provider) = transfer(300);
    let now = Instant::from_secs(1);
    caller.begin(now);
    provider.begin(now);
    assert_eq!(provider.poll_write(now, 0), None);
    assert_eq!(caller.next_write(), now);
    assert_eq!(caller.poll_write(now, 0), Some(300));
    assert_eq!(caller.poll_write(now, 0), None);
    provider.on_read(now, 299);
    assert!(!provider.is_filling());
    provider.on_read(now, 1);
    assert!(provider.is_filling());
    assert!(provider.poll_write(now, 0).is_some());
}

/// If the handshake's last packet is lost, the request opens the connection, and is read before that is reported.
#[test]
fn request_read_before_establishment_counts() {
    let now = Instant::from_secs(1);
    let (_, mut first) = transfer(300);
    let (_, mut later) = transfer(300);
    first.on_read(now, 300);
    first.begin(now);
    later.begin(now);
    later.on_read(now, 300);
    assert!(first.is_filling());
    assert_eq!(first.poll_write(now, 0), later.poll_write(now, 0), "what is drawn is drawn once");
}
