//! Parser of packets.

use super::ast::{Action, Direction, Icmp, MARKS, Mark, Packet, TcpOption, counter_names};
use super::lexer::{Cursor, ParseResult, Token};
use fairwind_wire::{CounterOrder, Flags};

/// Keywords of other protocols and encapsulations.
const FOREIGN: [&str; 8] = ["udp", "udplite", "ipv4", "ipv6", "gre", "mpls", "vlan", "sctp"];

/// `sock(3)` names the socket that a packet is for; the connection follows from the packets.
fn skip_socket(cursor: &mut Cursor) -> ParseResult<()> {
    if cursor.take_if_word("sock") {
        cursor.punct('(')?;
        cursor.number::<u32>("a descriptor")?;
        cursor.punct(')')?;
    }
    Ok(())
}

/// `< ...` or `> ...`
pub(super) fn packet(cursor: &mut Cursor) -> ParseResult<Action> {
    let direction = if cursor.take_if_punct('<') {
        Direction::In
    } else {
        cursor.punct('>')?;
        Direction::Out
    };
    skip_socket(cursor)?;
    if FOREIGN.iter().any(|word| cursor.is_word(word)) {
        return Ok(Action::Foreign(cursor.rest_of_line()));
    }
    let mut ip = IpFields::default();
    let mut quoted = None;
    if cursor.is_punct('[') {
        if matches!(cursor.peek_nth(1), Token::Integer(_)) {
            quoted = Some(quotation(cursor)?);
        } else {
            ip = ip_fields(cursor)?;
        }
    }
    if quoted.is_some() || cursor.is_word("icmp") {
        return icmp(cursor, direction, quoted);
    }
    let flags = flags(cursor)?;
    let (sequence, payload_bytes) = range(cursor)?;
    Ok(Action::Packet(Packet {
        direction,
        mark: ip.mark,
        traffic_class: ip.traffic_class,
        flags,
        sequence,
        payload_bytes,
        acknowledgment: optional(cursor, "ack", "an acknowledgment number")?,
        window: optional(cursor, "win", "a window field, at most 65535")?,
        urgent: optional(cursor, "urg", "an urgent pointer, at most 65535")?,
        options: options(cursor)?,
    }))
}

fn optional<N: TryFrom<u64>>(
    cursor: &mut Cursor,
    word: &str,
    expected: &str,
) -> ParseResult<Option<N>> {
    if cursor.take_if_word(word) { cursor.number(expected).map(Some) } else { Ok(None) }
}

/// Properties of the IP header.
#[derive(Default)]
struct IpFields {
    mark: Option<Mark>,
    traffic_class: Option<u8>,
}

/// `[ect0]`, `[tos 0x20]`; other properties of the IP header are ignored.
fn ip_fields(cursor: &mut Cursor) -> ParseResult<IpFields> {
    cursor.punct('[')?;
    let mut ip = IpFields::default();
    loop {
        let place = cursor.unexpected("noecn, ect0, ect1, ect01, ce, tos, flowlabel or ttl");
        match cursor.word("a mark")?.as_str() {
            "tos" => ip.traffic_class = Some(cursor.number("an octet, at most 255")?),
            "flowlabel" | "ttl" => {
                cursor.number::<u32>("a number of at most 32 bits")?;
            }
            word => match MARKS.iter().find(|(name, _)| *name == word) {
                Some((_, mark)) => ip.mark = Some(*mark),
                None => return Err(place),
            },
        }
        if cursor.take_if_punct(']') {
            return Ok(ip);
        }
        cursor.punct(',')?;
    }
}

/// Letters of the control bits; `.` is ACK, `-` is none. A digit from 0 to 7 is the counter of
/// accurate ECN that AE, CWR and ECE make up (RFC 9768 §3.2.2).
fn flags(cursor: &mut Cursor) -> ParseResult<Flags> {
    if cursor.take_if_punct('-') {
        return Ok(Flags::NONE);
    }
    let place = cursor.unexpected("flags (letters of SFRPUEWA, `.`, or `-` for none)");
    let mut flags = Flags::NONE;
    let mut any = false;
    loop {
        let more = match cursor.peek() {
            Token::Punct('.') => Some(Flags::ACK),
            Token::Word(letters) => letters_of(letters),
            // `.5`, which reads as a number elsewhere.
            Token::Decimal(text) => letters_of(text),
            Token::Integer(0..=7) if matches!(cursor.peek_nth(1), Token::Integer(_)) => {
                letters_of(&cursor.peek().to_string().replace('`', ""))
            }
            _ if any => return Ok(flags),
            _ => None,
        };
        flags |= more.ok_or_else(|| place.clone())?;
        any = true;
        cursor.take();
        if matches!(cursor.peek(), Token::Integer(_))
            && !matches!(cursor.peek_nth(1), Token::Integer(_))
        {
            return Ok(flags);
        }
    }
}

/// The flags of these letters; `None` if one is unknown.
fn letters_of(letters: &str) -> Option<Flags> {
    letters.chars().try_fold(Flags::NONE, |flags, letter| Some(flags | flag(letter)?))
}

fn flag(letter: char) -> Option<Flags> {
    Some(match letter {
        'S' => Flags::SYN,
        'F' => Flags::FIN,
        'R' => Flags::RST,
        'P' => Flags::PSH,
        'U' => Flags::URG,
        'E' => Flags::ECE,
        'W' => Flags::CWR,
        'A' => Flags::AE,
        '.' => Flags::ACK,
        '0'..='7' => {
            let bits = u16::try_from(letter.to_digit(8)?).ok()?;
            Flags::from_bits(bits << 6)
        }
        _ => return None,
    })
}

/// `first:end(payload)`: the first number and the payload bytes.
fn range(cursor: &mut Cursor) -> ParseResult<(u32, u32)> {
    let first: u32 = cursor.number("a sequence number")?;
    cursor.punct(':')?;
    let place = cursor.unexpected("an end that is the beginning plus the payload");
    let end: u32 = cursor.number("the sequence number behind the payload")?;
    cursor.punct('(')?;
    let payload: u32 = cursor.number("the payload's bytes")?;
    cursor.punct(')')?;
    if first.wrapping_add(payload) == end { Ok((first, payload)) } else { Err(place) }
}

fn options(cursor: &mut Cursor) -> ParseResult<Option<Vec<TcpOption>>> {
    let mut options = Vec::new();
    // A new event begins with a time, so `<` can only open options here.
    if !cursor.take_if_punct('<') {
        return Ok(Some(options));
    }
    if *cursor.peek() == Token::Ellipsis {
        cursor.take();
        cursor.punct('>')?;
        return Ok(None);
    }
    loop {
        options.push(option(cursor)?);
        if cursor.take_if_punct('>') {
            return Ok(Some(options));
        }
        if !cursor.take_if_punct(',') {
            return Err(cursor.unexpected("`,` or `>`"));
        }
    }
}

fn option(cursor: &mut Cursor) -> ParseResult<TcpOption> {
    let kind = cursor.word("a TCP option")?;
    Ok(match kind.as_str() {
        "nop" => TcpOption::NoOperation,
        "eol" => TcpOption::End,
        "mss" => TcpOption::MaximumSegment(cursor.number("a segment size, at most 65535")?),
        "wscale" => TcpOption::WindowScale(cursor.number("a shift, at most 255")?),
        "sackOK" => TcpOption::SackPermitted,
        "sack" => TcpOption::Sack(sack_blocks(cursor)?),
        "TS" => timestamps(cursor)?,
        "ECN" => accurate_ecn(cursor)?,
        "FO" => TcpOption::FastOpen(rest_of_option(cursor)?),
        "FOEXP" => TcpOption::FastOpenExperimental(rest_of_option(cursor)?),
        _ => TcpOption::Other(format!("{kind} {}", rest_of_option(cursor)?).trim_end().to_owned()),
    })
}

fn sack_blocks(cursor: &mut Cursor) -> ParseResult<Vec<(u32, u32)>> {
    let mut blocks = Vec::new();
    while !matches!(cursor.peek(), Token::Punct(',' | '>')) {
        let left = cursor.number("the left edge of a block")?;
        cursor.punct(':')?;
        blocks.push((left, cursor.number("the right edge of a block")?));
    }
    if (1..=4).contains(&blocks.len()) {
        Ok(blocks)
    } else {
        Err(cursor.unexpected("one to four blocks `left:right`"))
    }
}

fn timestamps(cursor: &mut Cursor) -> ParseResult<TcpOption> {
    let value = labelled(cursor, "val")?;
    let echo = labelled(cursor, "ecr")?;
    Ok(TcpOption::Timestamps { value, echo })
}

/// `e1b 1 ceb 2 e0b 3` or the reverse order, with up to three counters; no counter means order 1.
fn accurate_ecn(cursor: &mut Cursor) -> ParseResult<TcpOption> {
    let order =
        if cursor.is_word("e0b") { CounterOrder::Ect0First } else { CounterOrder::Ect1First };
    let mut counters = Vec::new();
    for name in counter_names(order) {
        if !cursor.take_if_word(name) {
            break;
        }
        let place = cursor.unexpected("a counter of at most 24 bits");
        let counter: u32 = cursor.number("a counter of at most 24 bits")?;
        if counter >> 24 != 0 {
            return Err(place);
        }
        counters.push(counter);
    }
    Ok(TcpOption::AccurateEcn { order, counters })
}

fn labelled(cursor: &mut Cursor, word: &str) -> ParseResult<u32> {
    if !cursor.take_if_word(word) {
        return Err(cursor.unexpected(format!("`{word}`")));
    }
    cursor.number("a timestamp of at most 32 bits")
}

/// The text up to the next option.
fn rest_of_option(cursor: &mut Cursor) -> ParseResult<String> {
    let mut words = Vec::new();
    loop {
        match cursor.peek() {
            Token::Punct(',' | '>') => return Ok(words.join(" ")),
            Token::Word(word) => {
                words.push(cursor.definitions.get(word).unwrap_or(word).clone());
            }
            Token::Integer(number) => words.push(number.to_string()),
            Token::Punct(sign @ (':' | '.' | '-')) => words.push(sign.to_string()),
            _ => return Err(cursor.unexpected("`,` or `>`")),
        }
        cursor.take();
    }
}

/// `[1:1461(1460)]`: the quoted part of a packet.
fn quotation(cursor: &mut Cursor) -> ParseResult<(u32, u32)> {
    cursor.punct('[')?;
    let quoted = range(cursor)?;
    cursor.punct(']')?;
    Ok(quoted)
}

/// `icmp type [code] [mtu N]`, with the quotation before or after it.
fn icmp(
    cursor: &mut Cursor,
    direction: Direction,
    before: Option<(u32, u32)>,
) -> ParseResult<Action> {
    if !cursor.take_if_word("icmp") {
        return Err(cursor.unexpected("`icmp`"));
    }
    let mut kind = cursor.word("the type of the message")?;
    let mut mtu = None;
    while let Token::Word(word) = cursor.peek().clone() {
        cursor.take();
        if word == "mtu" {
            mtu = Some(cursor.number("an MTU in bytes")?);
            break;
        }
        kind = format!("{kind} {word}");
    }
    let quoted = if cursor.is_punct('[') { Some(quotation(cursor)?) } else { before };
    Ok(Action::Icmp(Icmp { direction, kind, mtu, quoted }))
}
