//! Data with the SYN (RFC 7413).

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
fn data_with_a_valid_cookie_is_readable_at_once_and_answered_before_the_handshake_ends() {
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

/// A server whose host remembers windows.
fn remembering() -> Connection {
    let mut shares = Profile::Linux6_18.config();
    shares.growth.shares = true;
    let mut server = Connection::listen(Arc::new(shares), SERVER, SequenceNumber::new(5000));
    let permit = FastOpenPermit { cookie: cookie(1), former: None, without_cookie: false };
    server.permit_fast_open(permit);
    server
}

/// What is advised before the SYN holds once data has come with it, and is nothing that is still to be taken.
#[test]
fn an_early_connection_takes_what_a_listening_one_was_advised() {
    let (mut server, now) = (remembering(), Instant::from_secs(1));
    server.advise(Advice { window: Some(32), ..Advice::default() });
    server.on_segment(now, &poll(&mut client(500, cookie(1)), now)[0]);
    assert_eq!(server.congestion_window(), 32);
    assert_eq!(server.window_report(ConnectionId(0)).window, 32);
}

/// Half of a window is paced behind its tenth segment, whatever the handshake's last packet does.
#[test]
fn the_first_flight_of_an_early_connection_is_paced_until_something_of_it_is_acknowledged() {
    let (mut server, now) = (remembering(), Instant::from_secs(1));
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

/// Linux initialises the metrics of such a connection, and asks programs, when it creates it (`tcp_fastopen_create_child`).
#[test]
fn an_early_connection_begins_with_what_is_remembered_of_its_peer() {
    let (mut server, now) = (remembering(), Instant::from_secs(1));
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
fn idle_time_of_an_early_connection_counts_from_the_syn_on() {
    let (mut client, mut server) = (client(500, cookie(1)), server());
    let now = Instant::from_secs(1);
    server.on_segment(now, &poll(&mut client, now)[0]);
    let idle = Span::from_millis(300);
    assert_eq!(server.tcp_info(now + idle).since_data_sent, Some(idle));
}

#[test]
fn an_unknown_cookie_is_answered_by_a_valid_one_and_the_data_is_sent_again() {
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
fn a_cookie_of_the_former_key_is_accepted_and_renewed() {
    let (mut client, mut server) = (client(500, cookie(2)), server());
    let now = Instant::from_secs(1);
    server.on_segment(now, &poll(&mut client, now)[0]);
    assert_eq!(server.readable_bytes(), 500);
    let answer = poll(&mut server, now)[0];
    assert_eq!(answer.options.fast_open().map(|option| option.cookie), Some(cookie(1)));
}

#[test]
fn a_lost_syn_is_repeated_without_data_and_cookie() {
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
fn a_closed_early_connection_sends_its_fin_before_the_handshake_ends() {
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
