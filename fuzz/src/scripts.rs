//! Packetdrill scripts of any text.

use fairwind_packetdrill::{Action, RunOptions, Script, run};
use fairwind_tcp::Profile;
use std::collections::BTreeMap;

/// Pieces of which scripts are made; a byte below their number stands for one of them.
const PIECES: &[&str] = &[
    "\n",
    " ",
    "0 ",
    "+0 ",
    "+.1 ",
    "+0...0.2 ",
    "* ",
    "0.1~.2 ",
    "< ",
    "> ",
    "S ",
    "S. ",
    ". ",
    "P. ",
    "F. ",
    "R. ",
    "SEW ",
    "[ect0] ",
    "[ce] ",
    "0:0(0) ",
    "1:1001(1000) ",
    "1:1(0) ",
    "ack 1 ",
    "ack 1001 ",
    "win 1000 ",
    "urg 1 ",
    "<mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 7>",
    "<...>",
    "<FO,nop,nop>",
    "<nop,nop,sack 1001:2001>",
    "<nop,nop,TS val 200 ecr 100>",
    "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
    "bind(3, ..., ...) = 0",
    "listen(3, 1) = 0",
    "accept(3, ..., ...) = 4",
    "connect(3, ..., ...) = 0",
    "read(4, ..., 1000) = 1000",
    "write(4, ..., 1000) = 1000",
    "write(3, ..., 1000) = 1000",
    "close(4) = 0",
    "close(3) = 0",
    "shutdown(4, SHUT_WR) = 0",
    "sendto(3, ..., 1000, MSG_FASTOPEN, ..., ...) = 1000",
    "setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0",
    "poll([{fd=4, events=POLLIN}], 1, 100) = 1",
    "fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0",
    "-1 EAGAIN (Not now) ",
    "`sysctl -q net.ipv4.tcp_sack=0`",
    "`sysctl -q net.ipv4.tcp_ecn=1 net.ipv4.tcp_fastopen=0x603`",
    "%{ assert tcpi_snd_cwnd == 10 }%",
    "%{ x = 1 + 2; assert x in (3, 4) and not x < 1, \"%s\" % x }%",
    "--mss=1000\n",
    "--tolerance_usecs=1\n",
    "--ip_version=ipv6\n",
    "-DA=1\n",
    "// comment\n",
    "/* ",
    "*/ ",
    "icmp unreachable frag_needed mtu 500 ",
    "[1:1001(1000)] ",
    "\"text\" ",
    "{a=1, b=[2]} ",
    "4294967295",
    "eol",
    "= ",
    "(",
    ")",
    "[",
    "]",
    "...",
];

/// Reads a script, writes its events down and reads them again; runs it where it is not too long.
///
/// # Panics
/// Where what was written cannot be read, or anything else does.
pub fn script(bytes: &[u8]) {
    let text = text_of(bytes);
    let nothing = BTreeMap::new();
    let Ok(script) = Script::parse("any", &text, &nothing) else { return };
    for event in &script.events {
        let written = event.to_string();
        // What stands in code and commands, and so its end, is anybody's.
        if matches!(event.action, Action::Code(_) | Action::Command(_)) {
            continue;
        }
        let again = Script::parse("again", &written, &nothing);
        let again = again.unwrap_or_else(|error| panic!("{error}: {written}"));
        assert_eq!(again.events[0].time, event.time, "{written}");
    }
    if script.events.len() <= 64 {
        let _ = run(&script, &RunOptions::new(Profile::Linux6_18));
    }
}

/// Pieces and letters.
fn text_of(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        match PIECES.get(usize::from(byte).wrapping_sub(128)) {
            Some(piece) => text.push_str(piece),
            None => text.push(char::from(byte)),
        }
    }
    text
}
