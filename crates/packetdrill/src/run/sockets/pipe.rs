//! Pipes, and bytes that go between them and sockets without the application (`splice`).

use super::arguments::Arguments;
use super::constants::{DO_NOT_WAIT, MORE, value};
use super::request::{Read, Write};
use super::{Attempt, Other, Returned, SUCCESS, Sockets, fails};
use crate::outcome::{Step, Stop};
use crate::run::host::Host;
use crate::script::Expression;

/// Bytes that a pipe holds.
const CAPACITY: u32 = 65_536;
/// `SPLICE_F_NONBLOCK`
const SPLICE_DO_NOT_WAIT: i64 = 2;
/// `SPLICE_F_MORE`
const SPLICE_MORE: i64 = 4;

/// `splice`
#[derive(Debug, Clone)]
pub(crate) struct Splice {
    from: i64,
    to: i64,
    bytes: u32,
    flags: i64,
}

impl Splice {
    /// `splice(6, ..., 4, ..., 1000, SPLICE_F_MORE)`
    pub(super) fn of(given: Arguments<'_>) -> Step<Self> {
        Ok(Self {
            from: given.number(0)?,
            to: given.number(2)?,
            bytes: given.bytes(4)?,
            flags: given.number_or(5, 0)?,
        })
    }

    fn transfer_flags(&self) -> i64 {
        let more = if self.flags & SPLICE_MORE != 0 { MORE } else { 0 };
        let hasty = if self.flags & SPLICE_DO_NOT_WAIT != 0 { DO_NOT_WAIT } else { 0 };
        more | hasty
    }
}

/// The two descriptors of `pipe([6, 7])`: where it is read, and where it is written.
pub(super) fn ends(given: Arguments<'_>) -> Step<[i64; 2]> {
    match given.get(0)? {
        Expression::List(ends) if ends.len() == 2 => Ok([value(&ends[0])?, value(&ends[1])?]),
        other => Err(Stop::failed(format!("`{other}` is no list of two descriptors"))),
    }
}

impl Sockets {
    pub(super) fn make_pipe(&mut self, ends: [i64; 2]) -> Step<Attempt> {
        let pipe = self.pipes.len();
        self.pipes.push(0);
        for end in ends {
            self.make(Some(end), &Other::Pipe(pipe))?;
        }
        Ok(SUCCESS)
    }

    fn pipe(&mut self, descriptor: i64) -> Option<&mut u32> {
        match self.others.get(&descriptor) {
            Some(Other::Pipe(pipe)) => self.pipes.get_mut(*pipe),
            _ => None,
        }
    }

    /// Writes to a pipe, if the descriptor is one's.
    pub(super) fn write_pipe(&mut self, write: &Write) -> Option<Attempt> {
        let held = self.pipe(write.descriptor)?;
        let taken = write.bytes.min(CAPACITY - *held);
        *held += taken;
        Some(Attempt::Returns(Returned::value(i64::from(taken))))
    }

    /// Reads from a pipe, if the descriptor is one's.
    pub(super) fn read_pipe(&mut self, read: &Read) -> Option<Attempt> {
        let held = self.pipe(read.descriptor)?;
        let taken = read.bytes.min(*held);
        *held -= taken;
        Some(if taken == 0 {
            fails("EAGAIN")
        } else {
            Attempt::Returns(Returned::value(i64::from(taken)))
        })
    }

    pub(super) fn splice(&mut self, splice: &mut Splice, host: &mut Host) -> Step<Attempt> {
        let flags = splice.transfer_flags();
        if let Some(held) = self.pipe(splice.from) {
            let bytes = splice.bytes.min(*held);
            if bytes == 0 {
                return Ok(fails("EAGAIN"));
            }
            let mut write = Write::plain(splice.to, bytes, flags);
            let attempt = self.write(&mut write, host)?;
            // What was taken is gone; the call does not wait for the rest.
            let taken = write.taken;
            if let (Some(held), true) = (self.pipe(splice.from), taken > 0) {
                *held -= taken;
                return Ok(Attempt::Returns(Returned::value(i64::from(taken))));
            }
            return Ok(attempt);
        }
        let Some(held) = self.pipe(splice.to) else { return Ok(fails("EINVAL")) };
        let bytes = splice.bytes.min(CAPACITY - *held);
        let attempt = self.read(&mut Read::plain(splice.from, bytes, flags & DO_NOT_WAIT), host)?;
        if let (Attempt::Returns(returned), Some(held)) = (attempt, self.pipe(splice.to)) {
            *held += u32::try_from(returned.value).unwrap_or(0);
        }
        Ok(attempt)
    }
}
