//! Recorded rates, losses and delays, and the text formats they are read from.

use fairwind_units::{BitRate, Span};
use serde::{Deserialize, Serialize};

/// When a link may send, instead of a rate that stays the same. At its end it begins again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RateTrace {
    /// Instants at each of which 1500 bytes may leave, as Mahimahi records them (packet-delivery trace): several small
    /// packets share one, a larger packet needs several, and unused ones are lost.
    Opportunities {
        /// Milliseconds from the beginning, never decreasing, the last above zero; the last is the length of the trace.
        milliseconds: Vec<u64>,
    },
    /// Rates, each for some time.
    Steps {
        /// In order.
        steps: Vec<RateStep>,
    },
}

/// A rate for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// How long it lasts.
    pub duration: Span,
    /// Rate during this step; may be 0.
    pub rate: BitRate,
}

/// Bytes that may leave at one opportunity.
pub const OPPORTUNITY_BYTES: u64 = 1500;

impl RateTrace {
    /// Reads Mahimahi's format: a whole number of milliseconds on each line.
    ///
    /// # Errors
    /// The number of the line, from one, and its error; line 0 for the whole text.
    pub fn from_mahimahi(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut milliseconds: Vec<u64> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let instant = line.parse().map_err(|_| (number, "a whole number of milliseconds"))?;
            if milliseconds.last().is_some_and(|last| *last > instant) {
                return Err((number, "not less than the previous line"));
            }
            milliseconds.push(instant);
        }
        let trace = Self::Opportunities { milliseconds };
        trace.error().map_or(Ok(trace), |rule| Err((0, rule)))
    }

    /// Its error; `None` if a link may follow it.
    pub fn error(&self) -> Option<&'static str> {
        match self {
            Self::Opportunities { milliseconds } => {
                if !milliseconds.is_sorted() {
                    return Some("instants must not decrease");
                }
                let is_empty = milliseconds.last().is_none_or(|last| *last == 0);
                is_empty.then_some("a trace needs at least one instant, the last above zero")
            }
            Self::Steps { steps } => {
                let carries = |step: &RateStep| {
                    !step.duration.is_zero() && step.rate.as_bits_per_second() > 0
                };
                let carries = steps.iter().any(carries);
                let nanos: u128 =
                    steps.iter().map(|step| u128::from(step.duration.as_nanos())).sum();
                if nanos > u128::from(u64::MAX) {
                    return Some("its steps must last at most 584 years together");
                }
                (!carries).then_some("at least one step needs a duration and a rate above zero")
            }
        }
    }

    /// The mean rate over the whole trace.
    pub fn mean_rate(&self) -> BitRate {
        let (bits, nanos) = match self {
            Self::Opportunities { milliseconds } => {
                let bits = milliseconds.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8;
                (
                    bits * 1_000_000_000,
                    u128::from(milliseconds.last().copied().unwrap_or(0)) * 1_000_000,
                )
            }
            Self::Steps { steps } => {
                let bits = |step: &RateStep| {
                    u128::from(step.rate.as_bits_per_second())
                        * u128::from(step.duration.as_nanos())
                };
                let nanos = steps.iter().map(|step| u128::from(step.duration.as_nanos())).sum();
                (steps.iter().map(bits).sum(), nanos)
            }
        };
        let rate = bits.checked_div(nanos).unwrap_or(0);
        BitRate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// A line of a text, from one, and its expected form; line 0 for the whole text.
pub type LineError = (usize, &'static str);

/// Bounds of an entry: netem's tables have 16 bits.
const ENTRIES: std::ops::RangeInclusive<i32> = -32_768..=32_767;

/// Reads a row of losses: 1 for a packet that is lost, 0 for one that is not, with or without blanks and line breaks
/// between them. What follows `#` in a line says nothing.
///
/// # Errors
/// The first line with anything else; a text without any packet.
pub fn parse_losses(text: &str) -> Result<Vec<bool>, LineError> {
    let mut lost = Vec::new();
    for (number, line) in content_lines(text) {
        for letter in line.chars().filter(|letter| !letter.is_whitespace()) {
            match letter {
                '0' => lost.push(false),
                '1' => lost.push(true),
                _ => return Err((number, "1 for a packet that is lost, 0 for one that is not")),
            }
        }
    }
    if lost.is_empty() { Err((0, "the file has no packet")) } else { Ok(lost) }
}

/// Reads a table of delays as netem's are written (`.dist`): whole numbers with blanks and line breaks between them,
/// quantiles at equal distances in deviations from the mean times 8192. What follows `#` in a line says nothing.
///
/// # Errors
/// The first line with anything else; a text without any number.
pub fn parse_delay_table(text: &str) -> Result<Vec<i32>, LineError> {
    let mut table = Vec::new();
    for (number, line) in content_lines(text) {
        for word in line.split_whitespace() {
            let entry = word.parse().ok().filter(|entry| ENTRIES.contains(entry));
            table.push(entry.ok_or((number, "whole numbers from -32768 to 32767"))?);
        }
    }
    if table.is_empty() { Err((0, "the file has no number")) } else { Ok(table) }
}

/// Lines with their numbers, without remarks.
fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let before = |line: &'_ str| line.find('#').unwrap_or(line.len());
    (1..).zip(text.lines()).map(move |(number, line)| (number, &line[..before(line)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mahimahi_errors_name_the_line() {
        let trace = RateTrace::from_mahimahi("0\n0\n3\n10\n").unwrap();
        let milliseconds = vec![0, 0, 3, 10];
        assert_eq!(trace, RateTrace::Opportunities { milliseconds });
        assert_eq!(trace.mean_rate().as_bits_per_second(), 4_800_000);
        let error = |text| RateTrace::from_mahimahi(text).unwrap_err().0;
        assert_eq!([error("1\nx\n"), error("5\n4\n"), error(""), error("0\n")], [2, 2, 0, 0]);
    }

    #[test]
    fn mean_rate_is_weighted_by_duration() {
        let step = |seconds, rate| RateStep {
            duration: Span::from_secs(seconds),
            rate: BitRate::from_bits_per_second(rate),
        };
        let trace = RateTrace::Steps { steps: vec![step(1, 9_000_000), step(2, 0)] };
        assert_eq!(trace.mean_rate().as_bits_per_second(), 3_000_000);
        let silent = RateTrace::Steps { steps: vec![step(1, 0)] };
        assert!(silent.error().is_some() && trace.error().is_none());
        let endless = RateTrace::Steps { steps: vec![step(10_000_000_000, 1); 2] };
        assert!(endless.error().is_some_and(|rule| rule.contains("584 years")));
    }

    #[test]
    fn loss_file_allows_any_line_width() {
        let expected = Ok(vec![false, false, true, true, false]);
        assert_eq!(parse_losses("00110"), expected);
        assert_eq!(
            parse_losses("# seen on a radio link\n0 0 1\n\n1 # a burst of 2\n0\n"),
            expected
        );
        assert_eq!(parse_losses("01\n0x1\n").unwrap_err().0, 2);
        assert_eq!(parse_losses("# nothing\n").unwrap_err(), (0, "the file has no packet"));
    }

    #[test]
    fn netem_delay_table_is_read() {
        let text = "# a table of 6\n# normal\n-32768\t-28307 -26871\n\n 0 8192 32767\n";
        assert_eq!(parse_delay_table(text), Ok(vec![-32768, -28307, -26871, 0, 8192, 32767]));
        assert_eq!(parse_delay_table("1\n2\n3.5").unwrap_err().0, 3);
        assert_eq!(parse_delay_table("32768").unwrap_err().0, 1);
        assert_eq!(parse_delay_table("\n").unwrap_err(), (0, "the file has no number"));
    }
}
