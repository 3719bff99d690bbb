//! Time-sequence graphs as xplot reads them, with the signs that tcptrace made usual.
//!
//! A file is a list of drawing commands, one a line, between a head (type of the axes, title, labels)
//! and `go`. Times are seconds since 1970, with microseconds, as `timeval` asks. Data is white, its
//! repetitions red with an `R`, acknowledgments green, the window yellow, SACK blocks purple.

use super::flow::FlowTrace;
use super::point::{Kind, Point, Series};
use fairwind_units::Instant;
use std::io::{self, Write};

/// Writes the time-sequence graph of `trace`.
///
/// # Errors
/// What `out` says.
pub fn write_time_sequence(trace: &FlowTrace, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "timeval double\ntitle\n{} (time sequence graph)", one_line(trace.name()))?;
    writeln!(out, "xlabel\ntime\nylabel\nbytes of the stream")?;
    let points = trace.points();
    steps(&points, Series::Acknowledged, "green", out)?;
    steps(&points, Series::WindowEdge, "yellow", out)?;
    for (series, kind, point) in &points {
        sign(*series, *kind, point, out)?;
    }
    writeln!(out, "go")
}

/// Draws a series of values as steps.
fn steps(
    points: &[(Series, Kind, Point)],
    drawn: Series,
    colour: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{colour}")?;
    let mut points = points.iter().filter(|(series, ..)| *series == drawn).map(|(.., point)| point);
    let Some(mut before) = points.next() else { return Ok(()) };
    for point in points {
        let (from, to) = (time(before.at), time(point.at));
        writeln!(out, "line {from} {} {to} {}", before.high, before.high)?;
        writeln!(out, "line {to} {} {to} {}", before.high, point.high)?;
        before = point;
    }
    Ok(())
}

fn sign(series: Series, kind: Kind, point: &Point, out: &mut impl Write) -> io::Result<()> {
    let (at, low, high) = (time(point.at), point.low, point.high);
    match series {
        Series::Data => {
            let colour = if kind.is_retransmission() { "red" } else { "white" };
            writeln!(out, "{colour}\nline {at} {low} {at} {high}")?;
            writeln!(out, "darrow {at} {low}\nuarrow {at} {high}")?;
            match letter(kind) {
                Some(letter) => writeln!(out, "atext {at} {high}\n{letter}"),
                None => Ok(()),
            }
        }
        Series::Lost => writeln!(out, "orange\nline {at} {low} {at} {high}\nbtext {at} {low}\nL"),
        Series::Sack => {
            let letter = if kind == Kind::DuplicateSack { "D" } else { "S" };
            writeln!(out, "purple\nline {at} {low} {at} {high}\nrtext {at} {high}\n{letter}")
        }
        Series::DuplicateAck => writeln!(out, "green\ndtick {at} {low}"),
        Series::Mark => {
            writeln!(out, "magenta\natext {at} {high}\n{}", letter(kind).unwrap_or("?"))
        }
        _ => Ok(()),
    }
}

/// The sign above a segment that is not ordinary.
const fn letter(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        _ if kind.is_retransmission() => "R",
        Kind::OutOfOrder => "O",
        Kind::NetworkDuplicate => "HD",
        Kind::KeepAlive => "K",
        Kind::WindowProbe => "P",
        Kind::Bundle => "B",
        Kind::Syn => "SYN",
        Kind::Fin => "FIN",
        Kind::Reset => "RST",
        Kind::ZeroWindow => "Z",
        _ => return None,
    })
}

/// Seconds with microseconds.
fn time(at: Instant) -> String {
    let micros = at.as_nanos() / 1000;
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// A name cannot begin a command.
fn one_line(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Answer, Limits};
    use fairwind_wire::{Flags, Segment, SequenceNumber};

    #[test]
    fn a_file_for_xplot_has_head_signs_and_end() {
        let mut trace = FlowTrace::new("a>b\ngo".to_owned(), Limits::default());
        let data = Segment { payload_bytes: 100, ..Segment::default() };
        trace.on_sent(Instant::from_millis(1500), &data, Kind::New);
        trace.on_sent(Instant::from_millis(1700), &data, Kind::Timeout);
        let ack = |number| Segment {
            acknowledgment: SequenceNumber::new(number),
            flags: Flags::ACK,
            ..Segment::default()
        };
        trace.on_answer(Instant::from_millis(1750), &ack(40), Answer::Other);
        trace.on_answer(Instant::from_millis(1800), &ack(100), Answer::Other);
        let mut file = Vec::new();
        write_time_sequence(&trace, &mut file).expect("memory takes everything");
        let text = String::from_utf8(file).expect("plain letters");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["timeval double", "title", "a>bgo (time sequence graph)"]);
        assert_eq!(lines.last(), Some(&"go"));
        let has = |wanted: &[&str]| lines.windows(wanted.len()).any(|part| part == wanted);
        assert!(has(&["white", "line 1.500000 0 1.500000 100"]), "{text}");
        assert!(has(&["red", "line 1.700000 0 1.700000 100"]), "{text}");
        assert!(has(&["atext 1.700000 100", "R"]), "{text}");
        assert!(has(&["line 1.750000 40 1.800000 40", "line 1.800000 40 1.800000 100"]), "{text}");
    }
}
