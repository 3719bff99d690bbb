//! Parser of scripts.

use fairwind_packetdrill::{
    Action, Direction, EventTime, Expression, Mark, Packet, Script, TcpOption,
};
use fairwind_units::Span;
use fairwind_wire::{CounterOrder, Flags};
use std::collections::BTreeMap;

fn read(text: &str) -> Script {
    Script::parse("test", text, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn only_packet(text: &str) -> Packet {
    match read(text).events.remove(0).action {
        Action::Packet(packet) => packet,
        other => panic!("not a packet: {other}"),
    }
}

const EVERYTHING: &str = r"// A script with something of everything.
--tolerance_usecs=5000
--strict_segments
-D SIZE=1000
`sysctl -q net.ipv4.tcp_sack=1`

0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
+0 setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0
+0 bind(3, {sa_family = AF_INET, sin_port = htons(8080)}, ...) = 0 # a comment
+0...0.2 accept(3, ..., ...) = 4
.1 < [ect0] SEW 0:0(0) win 32792 <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7>
+.001~+.002 > S.E 0:0(0) ack 1 <...>
* < F. 1:1001(1000) ack 1 win 257 urg 3 <nop,nop,sack 1:1001 2001:3001>
0.5~0.6 > - 1:1(0) <FO 01ab,eol>
+0 write(4, ..., SIZE) = -1 EPIPE (Broken pipe)
+0 sendmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 5}], msg_flags=0}, 0) = 5
+0 < [1:1461(1460)] icmp unreachable frag_needed mtu 1200
+0 poll([{fd=4, events=POLLIN, revents=0}], 1, 10) = 0
%{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%
+0 `sleep 0`
`true`
";

#[test]
fn a_script_with_everything_is_read() {
    let script = read(EVERYTHING);
    assert_eq!(script.options.len(), 2);
    assert_eq!(script.options[0].value.as_deref(), Some("5000"));
    assert_eq!(script.preparation.as_ref().unwrap().line, 5);
    assert_eq!(script.cleanup.as_ref().unwrap().text, "true");
    assert_eq!(script.events.len(), 14);
    assert_eq!(script.events[0].line, 7);
}

/// The text form of an event parses to the same event.
#[test]
fn text_form_parses_to_the_same_tree() {
    let script = read(EVERYTHING);
    for event in &script.events {
        let again = read(&event.to_string()).events.remove(0);
        assert_eq!(again.action, event.action);
        assert_eq!(again.time, event.time);
    }
}

#[test]
fn times_are_exact() {
    let times: Vec<EventTime> = read("0.25 a() = 0\n+.000000001 a() = 0\n* a() = 0\n+1~+2 a() = 0")
        .events
        .iter()
        .map(|event| event.time)
        .collect();
    assert_eq!(
        times,
        [
            EventTime::Absolute(Span::from_millis(250)),
            EventTime::Relative(Span::from_nanos(1)),
            EventTime::Any,
            EventTime::RelativeRange(Span::from_secs(1), Span::from_secs(2)),
        ]
    );
}

#[test]
fn a_packet_has_all_its_fields() {
    let packet = only_packet("0 > [ce] FP.UEW 5:15(10) ack 7 win 9 urg 3 <mss 536,sack 1:2 3:4>");
    assert_eq!(packet.direction, Direction::Out);
    assert_eq!(packet.mark, Some(Mark::CongestionExperienced));
    assert_eq!(packet.flags, Flags::from_bits(0xff & !0x06));
    assert_eq!((packet.sequence, packet.payload_bytes), (5, 10));
    assert_eq!((packet.acknowledgment, packet.window, packet.urgent), (Some(7), Some(9), Some(3)));
    let options = vec![TcpOption::MaximumSegment(536), TcpOption::Sack(vec![(1, 2), (3, 4)])];
    assert_eq!(packet.options, Some(options));
}

#[test]
fn no_options_and_any_options_are_different() {
    assert_eq!(only_packet("0 > . 1:1(0) ack 1").options, Some(Vec::new()));
    assert_eq!(only_packet("0 > . 1:1(0) ack 1 <...>").options, None);
}

#[test]
fn definitions_stand_for_numbers_and_names() {
    let text =
        "-D LONG=1000\n--define=KIND=SO_LINGER\n0 f(LONG, KIND) = 0\n+0 > . 1:1001(LONG) ack 1";
    let script = read(text);
    let Action::Call(call) = &script.events[0].action else { panic!("a call") };
    let expected = [Expression::Integer(1000), Expression::Name("SO_LINGER".to_owned())];
    assert_eq!(call.arguments, expected);
    let Action::Packet(packet) = &script.events[1].action else { panic!("a packet") };
    assert_eq!(packet.payload_bytes, 1000);
}

#[test]
fn error_of_a_call_may_have_a_note() {
    let script = read("0 connect(3, ..., ...) = -1 EADDRNOTAVAIL (Can't assign requested address)");
    let Action::Call(call) = &script.events[0].action else { panic!("a call") };
    assert_eq!(call.result, Expression::Integer(-1));
    assert_eq!(call.error.as_deref(), Some("EADDRNOTAVAIL"));
}

#[test]
fn digit_in_flags_is_ace_counter() {
    for (text, flags) in [
        ("P.5", Flags::PSH | Flags::ACK | Flags::AE | Flags::ECE),
        (".2", Flags::ACK | Flags::CWR),
        ("SA1.", Flags::SYN | Flags::AE | Flags::ECE | Flags::ACK),
        ("SEWA", Flags::SYN | Flags::AE | Flags::ECE | Flags::CWR),
        ("4", Flags::AE),
    ] {
        assert_eq!(only_packet(&format!("0 > {text} 1:1(0) ack 1")).flags, flags, "{text}");
    }
}

#[test]
fn packet_sockets_and_option_definitions_are_parsed() {
    let packet =
        only_packet("-D COOKIE=01ab\n0 > sock(3) [ect0,ttl 64] S 0:0(0) <FO COOKIE,nop,nop>");
    assert_eq!(packet.options.unwrap()[0], TcpOption::FastOpen("01ab".to_owned()));
}

#[test]
fn packets_of_other_protocols_are_kept() {
    let script =
        read("0 > udp (1000)\n+0 < ipv4 1.1.1.1 > 2.2.2.2: . 1:1(0) ack 1\n+0 close(3) = 0");
    assert!(matches!(&script.events[0].action, Action::Foreign(text) if text.starts_with("udp")));
    assert_eq!(script.events.len(), 3);
}

#[test]
fn accurate_ecn_counters_have_two_orders() {
    for (text, order, counters) in [
        ("ECN e1b 1 ceb 2 e0b 3", CounterOrder::Ect1First, vec![1, 2, 3]),
        ("ECN e0b 7 ceb 8", CounterOrder::Ect0First, vec![7, 8]),
        ("ECN", CounterOrder::Ect1First, vec![]),
    ] {
        let packet = only_packet(&format!("0 > . 1:1(0) ack 1 <nop,{text}>"));
        let option = TcpOption::AccurateEcn { order, counters };
        assert_eq!(option.to_string(), text);
        assert_eq!(packet.options, Some(vec![TcpOption::NoOperation, option]));
    }
}
