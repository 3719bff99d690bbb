//! Arguments of a system call, by position.

use super::constants::value;
use crate::outcome::{Step, Stop};
use crate::script::{Call, Expression};

/// The arguments of one call.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a> {
    call: &'a Call,
}

impl<'a> Arguments<'a> {
    pub(super) fn of(call: &'a Call) -> Self {
        Self { call }
    }

    pub(super) fn get(self, place: usize) -> Step<&'a Expression> {
        self.call.arguments.get(place).ok_or_else(|| {
            Stop::failed(format!("{} needs more arguments: {}", self.call.function, self.call))
        })
    }

    pub(super) fn number(self, place: usize) -> Step<i64> {
        value(self.get(place)?)
    }

    /// A number where there is one; flags of a call that were left out are none.
    pub(super) fn number_or(self, place: usize, otherwise: i64) -> Step<i64> {
        self.call.arguments.get(place).map_or(Ok(otherwise), value)
    }

    /// A count of bytes.
    pub(super) fn bytes(self, place: usize) -> Step<u32> {
        bytes(self.get(place)?)
    }

    /// Whether the buffer at this place is nowhere: an address that is no buffer's.
    pub(super) fn is_nowhere(self, place: usize) -> bool {
        self.call.arguments.get(place).is_some_and(is_nowhere)
    }

    /// Whether a buffer of a vector, or of a message, is nowhere, and so early that nothing is
    /// transferred: the kernel copies by [`PORTION`], each as a whole or not at all.
    pub(super) fn faults_at_once(self, place: usize) -> Step<bool> {
        let Some(argument) = self.call.arguments.get(place) else { return Ok(false) };
        let Expression::List(buffers) = field(argument, "msg_iov").unwrap_or(argument) else {
            return Ok(false);
        };
        let faults = buffers.iter().any(|buffer| match buffer {
            Expression::Record(fields) => {
                fields.first().is_some_and(|first| is_nowhere(&first.value))
            }
            _ => false,
        });
        Ok(faults && vector_bytes(field(argument, "msg_iov").unwrap_or(argument))? == 0)
    }

    /// The bytes of the buffers in `[{..., 100}, {..., 200}]`.
    pub(super) fn vector_bytes(self, place: usize) -> Step<u32> {
        vector_bytes(self.get(place)?)
    }

    /// The bytes of the buffers of `{..., msg_iov(1)=[...], ...}`.
    pub(super) fn message_bytes(self, place: usize) -> Step<u32> {
        let message = self.get(place)?;
        match field(message, "msg_iov") {
            Some(vector) => vector_bytes(vector),
            // The buffer carries no bytes, only control messages.
            None if matches!(message, Expression::Record(_) | Expression::Any) => Ok(0),
            None => Err(Stop::failed(format!("`{message}` has no msg_iov"))),
        }
    }

    /// The descriptor that the call returns, where it returns one.
    pub(super) fn returned_descriptor(self) -> Option<i64> {
        match self.call.result {
            Expression::Integer(number) if number >= 0 => Some(number),
            _ => None,
        }
    }
}

fn is_nowhere(buffer: &Expression) -> bool {
    match buffer {
        Expression::Integer(_) => true,
        Expression::Name(name) => name == "NULL",
        _ => false,
    }
}

fn bytes(expression: &Expression) -> Step<u32> {
    u32::try_from(value(expression)?)
        .ok()
        .filter(|&bytes| bytes <= MOST_BYTES)
        .ok_or_else(|| Stop::failed(format!("`{expression}` is no count of bytes up to 1 GiB")))
}

/// What is copied at a time (Linux `skb_page_frag_refill`: fragments of 32 KiB).
const PORTION: u32 = 1 << 15;

/// More than this in one call is no script.
const MOST_BYTES: u32 = 1 << 30;

fn vector_bytes(vector: &Expression) -> Step<u32> {
    if *vector == Expression::Any {
        return Ok(0);
    }
    let Expression::List(buffers) = vector else {
        return Err(Stop::failed(format!("`{vector}` is no list of buffers")));
    };
    let mut sum = 0_u32;
    for buffer in buffers {
        match buffer {
            Expression::Any => {}
            // What stands behind is not reached, nor what would be copied with it.
            Expression::Record(fields) if fields.len() == 2 && is_nowhere(&fields[0].value) => {
                return Ok(sum - sum % PORTION);
            }
            Expression::Record(fields) if fields.len() == 2 => {
                sum = sum.saturating_add(bytes(&fields[1].value)?);
            }
            _ => return Err(Stop::failed(format!("`{buffer}` is no buffer {{..., bytes}}"))),
        }
    }
    Ok(sum)
}

/// A named field of a record.
pub(super) fn field<'a>(record: &'a Expression, name: &str) -> Option<&'a Expression> {
    let Expression::Record(fields) = record else { return None };
    fields.iter().find(|field| field.name.as_deref() == Some(name)).map(|field| &field.value)
}

/// The only member of `[value]`, or the value itself.
pub(super) fn only_member(expression: &Expression) -> &Expression {
    match expression {
        Expression::List(members) if members.len() == 1 => &members[0],
        other => other,
    }
}
