//! Socket options.

use super::application::Made;
use super::calls::Prepared;
use super::system::Descriptors;
use super::values::{Arguments, expect_number, int, needed_field, number};
use fairwind_linux as linux;
use fairwind_packetdrill::{Expression, Step, Stop};

pub(super) fn set(given: Arguments<'_>, open: &Descriptors) -> Step<Prepared> {
    let descriptor = open.live(given.get(0)?)?;
    let (level, name) = (given.int(1)?, given.int(2)?);
    let value = bytes(given.get(3)?)?;
    // A length that is written is meant, also a wrong one; longer ones than the value are not.
    let length = match given.0.arguments.get(4) {
        None | Some(Expression::Any) => value.len(),
        Some(length) => super::values::bytes(length)?.min(value.len()),
    };
    Ok(Prepared::new(move || {
        Made::now(linux::set_option(descriptor, level, name, &value[..length]))
    }))
}

/// A value of an option as the kernel takes it.
fn bytes(value: &Expression) -> Step<Vec<u8>> {
    match value {
        Expression::Text(text) => Ok(text.as_bytes().to_vec()),
        Expression::List(members) if members.len() == 1 => bytes(&members[0]),
        Expression::List(members) => Ok(members
            .iter()
            .map(int)
            .collect::<Step<Vec<_>>>()?
            .into_iter()
            .flat_map(i32::to_ne_bytes)
            .collect()),
        Expression::Record(_) => record(value),
        other => Ok(int(other)?.to_ne_bytes().to_vec()),
    }
}

/// `struct linger`, `struct timeval`
fn record(value: &Expression) -> Step<Vec<u8>> {
    let pair = |first, second| -> Step<(i64, i64)> {
        Ok((number(needed_field(value, first)?)?, number(needed_field(value, second)?)?))
    };
    let names = |name| super::values::field(value, name).is_some();
    if names("onoff") {
        let (on, seconds) = pair("onoff", "linger")?;
        return Ok(ints(&[on, seconds]));
    }
    if names("tv_sec") {
        let (seconds, micros) = pair("tv_sec", "tv_usec")?;
        return Ok([seconds.to_ne_bytes(), micros.to_ne_bytes()].concat());
    }
    Err(Stop::unsupported(format!("the value `{value}` is not known here")))
}

fn ints(numbers: &[i64]) -> Vec<u8> {
    let one = |number: &i64| i32::try_from(*number).unwrap_or(-1).to_ne_bytes();
    numbers.iter().flat_map(one).collect()
}

pub(super) fn get(given: Arguments<'_>, open: &Descriptors) -> Step<Prepared> {
    let descriptor = open.live(given.get(0)?)?;
    let (level, name) = (given.int(1)?, given.int(2)?);
    let what = given.get(2)?.to_string();
    let expected = given.get(3)?.clone();
    Ok(Prepared::new(move || {
        let mut value = [0_u8; 512];
        let (raw, length) = linux::get_option(descriptor, level, name, &mut value);
        let made = Made::now(raw);
        if raw.value < 0 { made } else { made.checked(judge(&what, &expected, &value[..length])) }
    }))
}

fn judge(what: &str, expected: &Expression, seen: &[u8]) -> Step<()> {
    let number = |place: usize| {
        let bytes = seen.get(place..place + 4).and_then(|bytes| bytes.first_chunk());
        bytes.map_or_else(
            || seen.first().map_or(-1, |byte| i64::from(*byte)),
            |bytes| i64::from(i32::from_ne_bytes(*bytes)),
        )
    };
    match expected {
        Expression::Any => Ok(()),
        Expression::List(members) if members.len() == 1 => judge(what, &members[0], seen),
        Expression::Text(text) => {
            let end = seen.iter().position(|byte| *byte == 0).unwrap_or(seen.len());
            let seen = String::from_utf8_lossy(&seen[..end]);
            if *text == seen {
                return Ok(());
            }
            Err(Stop::failed(format!("{what}: expected \"{text}\", seen \"{seen}\"")))
        }
        Expression::Record(_) if super::values::field(expected, "onoff").is_some() => {
            expect_number("onoff", needed_field(expected, "onoff")?, number(0))?;
            expect_number("linger", needed_field(expected, "linger")?, number(4))
        }
        Expression::Record(_) => {
            Err(Stop::unsupported(format!("the value `{expected}` is not known here")))
        }
        other => expect_number(what, other, number(0)),
    }
}
