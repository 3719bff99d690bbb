//! TCP options as a script lists them, and as they stand in a header.

use crate::outcome::{Step, Stop};
use crate::script::TcpOption;
use fairwind_wire::CounterOrder;

/// The number of the experiment that Fast Open was (RFC 7413 appendix A).
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xf9, 0x89];

/// How a script begins a signature (RFC 2385).
const SIGNATURE: &str = "md5";

/// Whether an option is a signature by a key that no socket here has.
pub(super) fn is_signature(option: &TcpOption) -> bool {
    matches!(option, TcpOption::Other(text) if text.split(' ').next() == Some(SIGNATURE))
}

/// Options as they stand in a header, without padding behind them.
///
/// # Errors
/// Where an option is not known, or cannot be written.
pub fn options_to_bytes(options: &[TcpOption]) -> Step<Vec<u8>> {
    let mut bytes = Vec::new();
    for option in options {
        match option {
            TcpOption::End => bytes.push(0),
            TcpOption::NoOperation => bytes.push(1),
            _ => {
                let (kind, content) = content_of(option)?;
                let length = u8::try_from(2 + content.len()).unwrap_or(u8::MAX);
                bytes.extend_from_slice(&[kind, length]);
                bytes.extend_from_slice(&content);
            }
        }
    }
    Ok(bytes)
}

/// The kind of an option that has a length, and what follows that.
fn content_of(option: &TcpOption) -> Step<(u8, Vec<u8>)> {
    let cookie = |text: &str| {
        from_digits(text)
            .ok_or_else(|| Stop::failed(format!("`{option}` has no whole number of bytes")))
    };
    Ok(match option {
        TcpOption::MaximumSegment(size) => (2, size.to_be_bytes().to_vec()),
        TcpOption::WindowScale(shift) => (3, vec![*shift]),
        TcpOption::SackPermitted => (4, Vec::new()),
        TcpOption::Sack(edges) => {
            let edges = edges.iter().flat_map(|&(left, right)| [left, right]);
            (5, edges.flat_map(u32::to_be_bytes).collect())
        }
        TcpOption::Timestamps { value, echo } => {
            (8, [value.to_be_bytes(), echo.to_be_bytes()].concat())
        }
        TcpOption::FastOpen(text) => (34, cookie(text)?),
        TcpOption::FastOpenExperimental(text) => {
            (254, [&FAST_OPEN_EXPERIMENT[..], &cookie(text)?].concat())
        }
        TcpOption::AccurateEcn { order, counters } => {
            let kind = match order {
                CounterOrder::Zero => 172,
                CounterOrder::One => 174,
            };
            (kind, counters.iter().flat_map(|counter| low_three(*counter)).collect())
        }
        TcpOption::Other(text) if is_signature(option) => (19, digest_of(text)?),
        TcpOption::End | TcpOption::NoOperation | TcpOption::Other(_) => {
            return Err(Stop::unsupported(format!("the option `{option}` is not known here")));
        }
    })
}

/// A counter of accurate ECN: its lowest 24 bits.
fn low_three(counter: u32) -> [u8; 3] {
    let [_, high, middle, low] = counter.to_be_bytes();
    [high, middle, low]
}

/// The 16 bytes of a signature; missing ones are zero, and stand in front.
fn digest_of(text: &str) -> Step<Vec<u8>> {
    let digest = from_digits(text.trim_start_matches(SIGNATURE).trim());
    let digest = digest
        .filter(|digest| digest.len() <= 16)
        .ok_or_else(|| Stop::failed(format!("`{text}` is no digest of up to 16 bytes")))?;
    let mut whole = vec![0; 16 - digest.len()];
    whole.extend(digest);
    Ok(whole)
}

fn from_digits(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Options in the order in which they stand in the header. Behind the end of the list only padding
/// stands, which is not listed.
pub fn options_from_bytes(header: &[u8]) -> Vec<TcpOption> {
    let mut listed = Vec::new();
    let mut rest = header;
    while let Some((&kind, behind)) = rest.split_first() {
        match kind {
            0 => {
                listed.push(TcpOption::End);
                break;
            }
            1 => {
                listed.push(TcpOption::NoOperation);
                rest = behind;
            }
            _ => {
                let length = usize::from(behind.first().copied().unwrap_or(0));
                let (Some(content), true) = (rest.get(2..length), length >= 2) else { break };
                listed.push(option_from_bytes(kind, content));
                rest = &rest[length..];
            }
        }
    }
    listed
}

fn option_from_bytes(kind: u8, content: &[u8]) -> TcpOption {
    let words: Vec<u32> =
        content.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
    match (kind, content) {
        (2, &[high, low]) => TcpOption::MaximumSegment(u16::from_be_bytes([high, low])),
        (3, &[shift]) => TcpOption::WindowScale(shift),
        (4, []) => TcpOption::SackPermitted,
        (5, _) if content.len().is_multiple_of(8) => {
            TcpOption::Sack(words.as_chunks::<2>().0.iter().map(|[l, r]| (*l, *r)).collect())
        }
        (8, _) if content.len() == 8 => TcpOption::Timestamps { value: words[0], echo: words[1] },
        (172, _) if content.len().is_multiple_of(3) => {
            TcpOption::AccurateEcn { order: CounterOrder::Zero, counters: counters(content) }
        }
        (174, _) if content.len().is_multiple_of(3) => {
            TcpOption::AccurateEcn { order: CounterOrder::One, counters: counters(content) }
        }
        (34, _) => TcpOption::FastOpen(digits(content)),
        (254, [0xf9, 0x89, cookie @ ..]) => TcpOption::FastOpenExperimental(digits(cookie)),
        _ => TcpOption::Other(format!("kind {kind} {}", digits(content))),
    }
}

fn digits(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn counters(content: &[u8]) -> Vec<u32> {
    content
        .as_chunks::<3>()
        .0
        .iter()
        .map(|[high, middle, low]| u32::from_be_bytes([0, *high, *middle, *low]))
        .collect()
}
