//! Analyses of whatever was captured: the whole loop ends, and what it counted adds up.

use crate::packets::options_of;
use arbitrary::{Arbitrary, Result, Unstructured};
use fairwind_analyse::{
    Analysis, CaptureSource, GroupRule, NextPacket, Outcome, PacketSource, Progress, Settings,
    TimeLimit, Vantage,
};
use fairwind_capture::{EndOfFile, Input, Packet};
use fairwind_measure::Values;
use fairwind_units::{Instant, Span};
use fairwind_wire::bytes::Addresses;
use fairwind_wire::{Flags, Segment, SequenceNumber};
use std::io::Cursor;

/// Lengths of windows, of which an hour has one, a few and billions.
const WINDOWS: [Span; 4] =
    [Span::from_secs(86_400), Span::from_secs(1), Span::from_millis(10), Span::from_nanos(700)];

/// Analyses bytes: the first one says whether the others are files, or packets of a few connections.
///
/// # Panics
/// Where the analysis does, or where packets are lost on the way into its tables.
pub fn analysis(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    if kind % 2 == 0 {
        of_files(rest, kind / 2 % 2 == 1);
    } else {
        let mut rest = Unstructured::new(rest);
        let _ = of_packets(&mut rest, kind / 2 % 2 == 1);
    }
}

/// One capture file, or two in the halves of the bytes.
fn of_files(bytes: &[u8], are_two: bool) {
    let open = |bytes: &[u8]| {
        let bytes = Box::new(Cursor::new(bytes.to_vec()));
        let input = Input::Source { name: "bytes".to_owned(), bytes };
        CaptureSource::open(vec![input], EndOfFile::Final).ok()
    };
    let settings = Settings { intervals: WINDOWS.to_vec(), ..few_rows() };
    if are_two {
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let (Some(first), Some(second)) = (open(first), open(second)) else { return };
        run(Analysis::of_two(first, second, settings).expect("the settings hold"));
    } else if let Some(source) = open(bytes) {
        run(Analysis::of_one(source, settings).expect("the settings hold"));
    }
}

/// Packets between two hosts that nearly follow each other, in two captures or one.
fn of_packets(bytes: &mut Unstructured<'_>, are_two: bool) -> Result<()> {
    let settings = any_settings(bytes)?;
    if are_two {
        let half = bytes.len() / 2;
        let first = Made::new(bytes.bytes(half)?);
        let second = Made::new(bytes.take_rest_of());
        run(Analysis::of_two(first, second, settings).expect("the settings hold"));
    } else {
        let source = Made::new(bytes.take_rest_of());
        run(Analysis::of_one(source, settings).expect("the settings hold"));
    }
    Ok(())
}

trait TakeRest<'a> {
    fn take_rest_of(&mut self) -> &'a [u8];
}

impl<'a> TakeRest<'a> for Unstructured<'a> {
    fn take_rest_of(&mut self) -> &'a [u8] {
        let length = self.len();
        self.bytes(length).unwrap_or_default()
    }
}

/// Settings with which silence takes no time to tabulate.
fn few_rows() -> Settings {
    Settings { max_empty_rows: Some(100), ..Settings::default() }
}

fn any_settings(bytes: &mut Unstructured<'_>) -> Result<Settings> {
    let span =
        |bytes: &mut Unstructured<'_>| Ok(Span::from_millis(u64::from(u16::arbitrary(bytes)?)));
    let vantages =
        [Vantage::Auto, Vantage::Sender, Vantage::Receiver, Vantage::Opener, Vantage::Answerer];
    let mut settings = Settings {
        vantage: *bytes.choose(&vantages)?,
        linger: span(bytes)?,
        half_open_timeout: span(bytes)?,
        intervals: vec![*bytes.choose(&WINDOWS)?],
        per_flow_intervals: bool::arbitrary(bytes)?,
        ..few_rows()
    };
    if bool::arbitrary(bytes)? {
        settings.idle_timeout = Some(span(bytes)?);
        settings.connection_from = span(bytes)?;
        settings.from = Some(TimeLimit::Since(span(bytes)?));
        settings.until = Some(TimeLimit::At(Instant::from_nanos(u64::arbitrary(bytes)?)));
    }
    if bool::arbitrary(bytes)? {
        let filter = "dst port 80 or host 10.0.0.3".parse().expect("a filter");
        settings.groups.push(GroupRule { name: "web".to_owned(), filter });
    }
    Ok(settings)
}

/// Makes packets of bytes until there are none.
struct Made<'a> {
    bytes: Unstructured<'a>,
    at: Instant,
    number: u64,
    /// Where each side of the conversation has come to.
    next: [SequenceNumber; 2],
}

impl<'a> Made<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let next = [SequenceNumber::new(u32::MAX - 3000), SequenceNumber::new(7000)];
        Self { bytes: Unstructured::new(bytes), at: Instant::from_secs(1), number: 0, next }
    }

    fn any_packet(&mut self) -> Result<Packet> {
        self.pass_time()?;
        let side = usize::from(bool::arbitrary(&mut self.bytes)?);
        let segment = self.any_segment(side)?;
        let host = 1 + u8::arbitrary(&mut self.bytes)? % 3;
        let there =
            Addresses::V4 { source: [10, 0, 0, host].into(), destination: [10, 0, 0, 9].into() };
        self.number += 1;
        Ok(Packet {
            at: self.at,
            number: self.number,
            wire_bytes: u32::arbitrary(&mut self.bytes)? >> 18,
            addresses: if side == 0 { there } else { there.reversed() },
            identification: Some(u16::from(u8::arbitrary(&mut self.bytes)?)),
            hop_limit: 64,
            segment,
            ..Packet::EMPTY
        })
    }

    fn pass_time(&mut self) -> Result<()> {
        let bytes = &mut self.bytes;
        self.at = match bytes.int_in_range(0..=15_u8)? {
            0 => Instant::from_nanos(u64::arbitrary(bytes)?),
            1 => {
                let back = u64::from(u32::arbitrary(bytes)?);
                Instant::from_nanos(self.at.as_nanos().saturating_sub(back))
            }
            2..=4 => self.at + Span::from_micros(u64::from(u32::arbitrary(bytes)?)),
            _ => self.at + Span::from_micros(u64::from(u16::arbitrary(bytes)?)),
        };
        Ok(())
    }

    fn near(&mut self, number: SequenceNumber) -> Result<SequenceNumber> {
        let bytes = &mut self.bytes;
        Ok(match bytes.int_in_range(0..=7_u8)? {
            0 => SequenceNumber::new(u32::arbitrary(bytes)?),
            1 => number - u32::from(u16::arbitrary(bytes)?),
            2 => number + u32::from(u16::arbitrary(bytes)?),
            3 => number - 1,
            _ => number,
        })
    }

    fn any_segment(&mut self, side: usize) -> Result<Segment> {
        let ports = (50_000, 80);
        let (source_port, destination_port) = if side == 0 { ports } else { (ports.1, ports.0) };
        let flags = match self.bytes.int_in_range(0..=9_u8)? {
            0 => Flags::SYN,
            1 => Flags::SYN | Flags::ACK,
            2 => Flags::FIN | Flags::ACK,
            3 => Flags::from_bits(u16::arbitrary(&mut self.bytes)?),
            _ => Flags::ACK,
        };
        let payload_bytes = match self.bytes.int_in_range(0..=5_u8)? {
            0 => u32::from(u16::arbitrary(&mut self.bytes)?),
            1 | 2 => 1000,
            3 => 1,
            _ => 0,
        };
        let length = self.bytes.int_in_range(0..=40_usize)?.min(self.bytes.len());
        let options = options_of(self.bytes.bytes(length)?).unwrap_or_default();
        let segment = Segment {
            source_port,
            destination_port,
            sequence: self.near(self.next[side])?,
            acknowledgment: self.near(self.next[1 - side])?,
            flags,
            window: u16::arbitrary(&mut self.bytes)?,
            payload_bytes,
            options,
            ..Segment::default()
        };
        self.next[side] = segment.end();
        Ok(segment)
    }
}

impl PacketSource for Made<'_> {
    fn next(&mut self, packet: &mut Packet) -> NextPacket {
        if self.bytes.is_empty() {
            return NextPacket::End;
        }
        match self.any_packet() {
            Ok(made) => {
                *packet = made;
                NextPacket::Packet
            }
            Err(_) => NextPacket::End,
        }
    }
}

fn run<S: PacketSource>(mut analysis: Analysis<S>) {
    let mut rows = 0;
    while analysis.advance(20) == Progress::Working {
        if let Some(tables) = analysis.take_rows(4) {
            rows += tables.get("connections").map_or(0, fairwind_measure::Table::rows);
        }
    }
    let _ = analysis.snapshot();
    let outcome = analysis.finish();
    rows += outcome.tables.get("connections").map_or(0, fairwind_measure::Table::rows);
    assert_eq!(u64::try_from(rows).ok(), Some(outcome.facts.connections), "each one has a row");
    adds_up(&outcome);
}

/// Set-ups are of connections.
fn adds_up(outcome: &Outcome) {
    let setups = outcome.tables.get("setups").expect("a table of set-ups");
    let sum = |name: &str| match setups.column(name) {
        Some(Values::U64(counts)) => counts.iter().sum::<u64>(),
        _ => 0,
    };
    assert_eq!(sum("attempts") + sum("unseen"), outcome.facts.connections);
    let outcomes = ["completed", "unanswered", "refused", "half_open"].map(sum);
    assert_eq!(outcomes.iter().sum::<u64>(), sum("attempts"));
}
