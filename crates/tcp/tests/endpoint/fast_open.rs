//! TCP Fast Open (RFC 7413).

use fairwind_tcp::{
    Advice, Config, Connection, ConnectionId, Event, FastOpenFailure, FastOpenPermit, FastOpenSyn,
    Ports, Profile, State,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Cookie, FastOpen, FastOpenKind, Segment, SequenceNumber};
use std::sync::Arc;

const CLIENT: Ports = Ports { local: 40_000, remote: 80 };
const SERVER: Ports = Ports { local: 80, remote: 40_000 };

fn config() -> Arc<Config> {
    Arc::new(Profile::Linux6_18.config())
}

fn cookie(byte: u8) -> Cookie {
    Cookie::new(&[byte; 8]).unwrap()
}

fn client(bytes: u32, presented: Cookie) -> Connection {
    let option = Some(FastOpen { kind: FastOpenKind::Assigned, cookie: presented });
    let syn = FastOpenSyn::Data { option, bytes, peer_mss: None };
    Connection::connect_with_fast_open(config(), CLIENT, SequenceNumber::new(1000), syn)
}

fn server() -> Connection {
    let mut server = Connection::listen(config(), SERVER, SequenceNumber::new(5000));
    let permit =
        FastOpenPermit { cookie: cookie(1), former: Some(cookie(2)), without_cookie: false };
    server.permit_fast_open(permit);
    server
}

fn poll(connection: &mut Connection, now: Instant) -> Vec<Segment> {
    std::iter::from_fn(|| connection.poll_segment(now)).collect()
}

fn events(connection: &mut Connection) -> Vec<Event> {
    std::iter::from_fn(|| connection.poll_event()).collect()
}

#[test]
fn valid_cookie_makes_data_readable() {
    let (mut client, mut server) = (client(500, cookie(1)), server());
    let now = Instant::from_secs(1);
    let syn = poll(&mut client, now)[0];
    assert_eq!((client.syn_data_bytes(), syn.payload_bytes), (500, 500));
    server.on_segment(now, &syn);
    assert_eq!(events(&mut server), [Event::OpenedEarly]);
    assert_eq!((server.state(), server.readable_bytes()), (State::SynReceived, 500));
    server.read(now, 500);
    assert_eq!(server.write(3000), 3000);
    let answers = poll(&mut server, now);
    assert_eq!(answers[0].acknowledgment, SequenceNumber::new(1501));
    let payloads: Vec<u32> = answers[1..].iter().map(|answer| answer.payload_bytes).collect();
    assert_eq!(payloads, [1448, 1448, 104]);
    for answer in &answers {
        client.on_segment(now, answer);
        for segment in poll(&mut client, now) {
            server.on_segment(now, &segment);
        }
    }
    assert_eq!((client.state(), client.readable_bytes()), (State::Established, 3000));
    assert!(client.is_drained(), "the SYN's data is acknowledged");
    assert_eq!(server.state(), State::Established);
    assert_eq!(client.fast_open_failure(), None);
}

/// A server with a window cache.
fn server_with_cache() -> Connection {
    let mut shares = Profile::Linux6_18.config();
    shares.growth.shares = true;
    let mut server = Connection::listen(Arc::new(shares), SERVER, SequenceNumber::new(5000));
    let permit = FastOpenPermit { cookie: cookie(1), former: None, without_cookie: false };
    server.permit_fast_open(permit);
    server
}

/// Advice before the SYN applies once data arrives with it, and is no longer pending.
#[test]
fn early_connection_takes_listener_advice() {
    let (mut server, now) = (server_with_cache(), Instant::from_secs(1));
    server.advise(Advice { window: Some(32), ..Advice::default() });
    server.on_segment(now, &poll(&mut client(500, cookie(1)), now)[0]);
    assert_eq!(server.congestion_window(), 32);
    assert_eq!(server.window_report(ConnectionId(0)).window, 32);
}

/// Half of a window is paced after its tenth segment, whatever the last packet of the handshake
/// does.
#[test]
fn early_first_flight_is_paced() {
    let (mut server, now) = (server_with_cache(), Instant::from_secs(1));
    let mut client = client(500, cookie(1));
    server.on_segment(now, &poll(&mut client, now)[0]);
    server.advise(Advice { window: Some(1), min_window: Some(40), ..Advice::default() });
    assert_eq!(server.congestion_window(), 40);
    let syn_ack = poll(&mut server, now)[0];
    let later = now + Span::from_millis(50);
    client.on_segment(later, &syn_ack);
    let handshake_ack = poll(&mut client, later)[0];
    assert_eq!(server.write(100_000), 100_000);
    let first = poll(&mut server, now).len();
    server.on_segment(later, &handshake_ack);
    assert!(first < 40 && server.next_deadline() < Instant::MAX, "{first}");
}

/// Linux initialises the metrics of such a connection, and calls its programs, at its creation
/// (`tcp_fastopen_create_child`).
#[test]
fn early_connection_uses_cached_values() {
    let (mut server, now) = (server_with_cache(), Instant::from_secs(1));
    server.on_segment(now, &poll(&mut client(500, cookie(1)), now)[0]);
    let told = events(&mut server);
    assert_eq!(told, [Event::PeerAsks, Event::OpenedEarly], "advice comes before any answer");
    server.advise(Advice { window: Some(32), ..Advice::default() });
    assert_eq!(server.congestion_window(), 32);
    assert_eq!(server.write(100_000), 100_000);
    let first_flight = poll(&mut server, now).iter().filter(|sent| sent.payload_bytes > 0).count();
    assert_eq!(first_flight, 32);
}

/// Linux `tcp_create_openreq_child`.
#[test]
fn early_connection_idles_from_syn() {
    let (mut client, mut server) = (client(500, cookie(1)), server());
    let now = Instant::from_secs(1);
    server.on_segment(now, &poll(&mut client, now)[0]);
    let idle = Span::from_millis(300);
    assert_eq!(server.tcp_info(now + idle).since_data_sent, Some(idle));
}

#[test]
fn unknown_cookie_is_renewed_and_data_resent() {
    let (mut client, mut server) = (client(500, cookie(9)), server());
    let now = Instant::from_secs(1);
    server.on_segment(now, &poll(&mut client, now)[0]);
    assert_eq!(server.readable_bytes(), 0);
    let answer = poll(&mut server, now)[0];
    assert_eq!(answer.acknowledgment, SequenceNumber::new(1001));
    assert_eq!(answer.options.fast_open().map(|option| option.cookie), Some(cookie(1)));
    client.on_segment(now, &answer);
    let again = poll(&mut client, now);
    assert_eq!(again.len(), 1, "the acknowledgment travels with the data");
    assert_eq!((again[0].sequence, again[0].payload_bytes), (SequenceNumber::new(1001), 500));
    assert_eq!(client.fast_open_failure(), Some(FastOpenFailure::DataNotAcknowledged));
    let report = client.take_fast_open_update().unwrap();
    assert_eq!(report.cookie.map(|option| option.cookie), Some(cookie(1)));
    server.on_segment(now, &again[0]);
    assert_eq!(server.readable_bytes(), 500);
}

#[test]
fn former_key_cookie_is_accepted_and_renewed() {
    let (mut client, mut server) = (client(500, cookie(2)), server());
    let now = Instant::from_secs(1);
    server.on_segment(now, &poll(&mut client, now)[0]);
    assert_eq!(server.readable_bytes(), 500);
    let answer = poll(&mut server, now)[0];
    assert_eq!(answer.options.fast_open().map(|option| option.cookie), Some(cookie(1)));
}

#[test]
fn lost_syn_is_retransmitted_without_data() {
    let mut client = client(500, cookie(1));
    let now = Instant::from_secs(1);
    poll(&mut client, now);
    let later = now + Span::from_secs(1);
    assert_eq!(client.next_deadline(), later);
    client.on_deadline(later);
    let again = poll(&mut client, later)[0];
    assert_eq!((again.payload_bytes, again.options.fast_open()), (0, None));
    let mut server = server();
    server.on_segment(later, &again);
    client.on_segment(later, &poll(&mut server, later)[0]);
    let data = poll(&mut client, later);
    assert_eq!((data[0].sequence, data[0].payload_bytes), (SequenceNumber::new(1001), 500));
    assert_eq!(client.fast_open_failure(), Some(FastOpenFailure::SynRetransmitted));
    assert!(client.take_fast_open_update().unwrap().data_was_dropped);
}

#[test]
fn early_close_sends_fin_before_establishment() {
    let (mut client, mut server) = (client(500, cookie(1)), server());
    let now = Instant::from_secs(1);
    server.on_segment(now, &poll(&mut client, now)[0]);
    server.read(now, 500);
    server.close();
    assert_eq!(server.write(1), 0);
    let answers = poll(&mut server, now);
    assert_eq!(answers.len(), 2, "SYN-ACK and FIN");
    for answer in &answers {
        client.on_segment(now, answer);
    }
    assert_eq!(client.state(), State::CloseWait);
    for segment in poll(&mut client, now) {
        server.on_segment(now, &segment);
    }
    assert_eq!(server.state(), State::FinWait2);
}
