//! Losses and delays that were recorded, as text.

/// A line of a text, from one, and what it should have been; line 0 where the text as a whole is meant.
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
    for (number, line) in told(text) {
        for letter in line.chars().filter(|letter| !letter.is_whitespace()) {
            match letter {
                '0' => lost.push(false),
                '1' => lost.push(true),
                _ => return Err((number, "1 for a packet that is lost, 0 for one that is not")),
            }
        }
    }
    if lost.is_empty() { Err((0, "there is no packet in it")) } else { Ok(lost) }
}

/// Reads a table of delays as netem's are written (`.dist`): whole numbers with blanks and line breaks between them,
/// quantiles at equal distances in deviations from the mean times 8192. What follows `#` in a line says nothing.
///
/// # Errors
/// The first line with anything else; a text without any number.
pub fn parse_delay_table(text: &str) -> Result<Vec<i32>, LineError> {
    let mut table = Vec::new();
    for (number, line) in told(text) {
        for word in line.split_whitespace() {
            let entry = word.parse().ok().filter(|entry| ENTRIES.contains(entry));
            table.push(entry.ok_or((number, "whole numbers from -32768 to 32767"))?);
        }
    }
    if table.is_empty() { Err((0, "there is no number in it")) } else { Ok(table) }
}

/// Lines with their numbers, without remarks.
fn told(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let before = |line: &'_ str| line.find('#').unwrap_or(line.len());
    (1..).zip(text.lines()).map(move |(number, line)| (number, &line[..before(line)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_losses_may_be_written_in_any_width() {
        let expected = Ok(vec![false, false, true, true, false]);
        assert_eq!(parse_losses("00110"), expected);
        assert_eq!(
            parse_losses("# seen on a radio link\n0 0 1\n\n1 # a burst of 2\n0\n"),
            expected
        );
        assert_eq!(parse_losses("01\n0x1\n").unwrap_err().0, 2);
        assert_eq!(parse_losses("# nothing\n").unwrap_err(), (0, "there is no packet in it"));
    }

    #[test]
    fn a_table_of_delays_is_read_as_netem_writes_it() {
        let text = "# a table of 6\n# normal\n-32768\t-28307 -26871\n\n 0 8192 32767\n";
        assert_eq!(parse_delay_table(text), Ok(vec![-32768, -28307, -26871, 0, 8192, 32767]));
        assert_eq!(parse_delay_table("1\n2\n3.5").unwrap_err().0, 3);
        assert_eq!(parse_delay_table("32768").unwrap_err().0, 1);
        assert_eq!(parse_delay_table("\n").unwrap_err(), (0, "there is no number in it"));
    }
}
