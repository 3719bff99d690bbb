//! Robustness: no text makes the parser panic, and accepted texts can be written again.

use fairwind_packetdrill::Script;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SCRIPT: &str = r#"--mss=1460
-D A=1
`sysctl net.ipv4.tcp_sack=0`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...1.5 accept(3, {a=1, b=[2]}, "x"...) = -1 EAGAIN (Not now)
0.1~.2 < [ect0] SEW 0:0(0) win 100 <mss 1460,sackOK,TS val 1 ecr 2,nop,wscale 7,FO 0a>
+.1~+.2 > S. 0:0(0) ack 1 urg 2 <...>
* < [1:11(10)] icmp unreachable frag_needed mtu 576
+0 %{ assert a == 1 }% // comment
/* end */ `true`"#;

fn try_to_read(text: &str) {
    if let Ok(script) = Script::parse("any", text, &BTreeMap::new()) {
        for event in script.events {
            let written = event.to_string();
            let again = Script::parse("again", &written, &BTreeMap::new());
            let again = again.unwrap_or_else(|error| panic!("{error}: {written}"));
            assert_eq!(again.events[0].time, event.time, "{written}");
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_text_is_read_or_refused(text in any::<String>()) {
        try_to_read(&text);
    }

    #[test]
    fn arbitrary_tokens_are_read_or_refused(
        words in proptest::collection::vec(
            prop_oneof![
                Just("0"), Just("+"), Just("~"), Just("*"), Just("..."), Just("<"), Just(">"),
                Just("S"), Just("."), Just("1:1(0)"), Just("ack"), Just("win"), Just("f"),
                Just("("), Just(")"), Just("="), Just("["), Just("]"), Just("{"), Just("}"),
                Just(","), Just("|"), Just("-"), Just("sack"), Just("TS"), Just("val"),
                Just("icmp"), Just("mtu"), Just("`x`"), Just("%{x}%"), Just("\"t\""), Just("0.5"),
                Just("-D"), Just("--a=b"), Just("\n"),
            ],
            0..40,
        ),
    ) {
        try_to_read(&words.join(" "));
        try_to_read(&words.concat());
    }

    #[test]
    fn mutated_script_is_parsed_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<char>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut characters: Vec<char> = SCRIPT.chars().collect();
        for (place, character) in changes {
            let at = place.index(characters.len());
            characters[at] = character;
        }
        try_to_read(&characters.iter().collect::<String>());
        characters.truncate(cut.index(characters.len()));
        try_to_read(&characters.iter().collect::<String>());
    }
}
