//! Waiting for several descriptors: `poll` and `epoll`.

use super::application::Made;
use super::calls::Prepared;
use super::system::Descriptors;
use super::values::{Arguments, expect_number, field, int, members, needed_field, number};
use fairwind_linux as linux;
use fairwind_packetdrill::{Expression, Step, Stop};

pub(super) fn poll(given: Arguments<'_>, open: &Descriptors) -> Step<Prepared> {
    let entries = members(given.get(0)?)?;
    let mut watched = Vec::new();
    let mut expected = Vec::new();
    for entry in entries {
        let events = number(needed_field(entry, "events")?)?;
        let events = i16::try_from(events).map_err(|_| Stop::failed("events of 16 bits"))?;
        watched.push((open.live(needed_field(entry, "fd")?)?, events, 0_i16));
        expected.push(field(entry, "revents").cloned().unwrap_or(Expression::Any));
    }
    let timeout = given.int(2)?;
    Ok(Prepared::new(move || {
        let raw = linux::descriptors_wait(&mut watched, timeout);
        let met = watched.iter().zip(&expected).try_for_each(|((_, _, returned), expected)| {
            expect_number("revents", expected, i64::from(*returned))
        });
        Made::now(raw).checked(met)
    }))
}

/// `epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN, fd=4})`
pub(super) fn epoll_control(given: Arguments<'_>, open: &Descriptors) -> Step<Prepared> {
    let epoll = open.live(given.get(0)?)?;
    let operation = given.int(1)?;
    let descriptor = open.live(given.get(2)?)?;
    let event = match given.get(3)? {
        Expression::Any => (0, 0),
        record => one_event(record)?,
    };
    Ok(Prepared::new(move || Made::now(linux::epoll_control(epoll, operation, descriptor, event))))
}

/// Events and data; data is whatever the script writes, in its own numbers.
fn one_event(record: &Expression) -> Step<(u32, u64)> {
    let events = int(needed_field(record, "events")?)?.cast_unsigned();
    let names = ["fd", "u32", "u64", "ptr"];
    let content = names.iter().find_map(|name| field(record, name));
    let content = content.map_or(Ok(0), number)?;
    Ok((events, content.cast_unsigned()))
}

/// `epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0)`
pub(super) fn epoll_wait(given: Arguments<'_>, open: &Descriptors) -> Step<Prepared> {
    let epoll = open.live(given.get(0)?)?;
    let expected = match given.get(1)? {
        Expression::Any => None,
        records => Some(members(records)?.iter().map(one_event).collect::<Step<Vec<_>>>()?),
    };
    let (most, timeout) = (given.int(2)?, given.int(3)?);
    Ok(Prepared::new(move || {
        let (raw, seen) = linux::epoll_wait(epoll, most, timeout);
        Made::now(raw).checked(judge_events(expected.as_deref(), &seen))
    }))
}

fn judge_events(expected: Option<&[(u32, u64)]>, seen: &[(u32, u64)]) -> Step<()> {
    let Some(expected) = expected else { return Ok(()) };
    for (one, (events, content)) in expected.iter().zip(seen) {
        if *one != (*events, *content) {
            return Err(Stop::failed(format!(
                "the event: expected {:#x} of {}, seen {events:#x} of {content}",
                one.0, one.1
            )));
        }
    }
    Ok(())
}
