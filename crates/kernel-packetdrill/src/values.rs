//! Values of a script as the numbers and bytes that the kernel takes.

use super::names;
use fairwind_linux::Buffer;
use fairwind_packetdrill::{Call, Expression, Step, Stop};

/// The number that an expression stands for.
pub(super) fn number(expression: &Expression) -> Step<i64> {
    match expression {
        Expression::Integer(number) => Ok(*number),
        Expression::Name(name) => names::value(name)
            .ok_or_else(|| Stop::unsupported(format!("the name {name} is not known here"))),
        Expression::Union(members) => {
            members.iter().try_fold(0, |union, member| Ok(union | number(member)?))
        }
        Expression::List(members) if members.len() == 1 => number(&members[0]),
        Expression::Function(name, arguments) => function(name, arguments),
        other => Err(Stop::failed(format!("`{other}` is no number"))),
    }
}

fn function(name: &str, arguments: &[Expression]) -> Step<i64> {
    match (name, arguments) {
        // Ports are kept as they are read; they are turned where an address is made.
        ("htons" | "htonl" | "ntohs" | "ntohl", [argument]) => number(argument),
        _ => Err(Stop::unsupported(format!("the function {name} is not known here"))),
    }
}

/// The same as a C `int`; bits beyond are an error.
pub(super) fn int(expression: &Expression) -> Step<i32> {
    let value = number(expression)?;
    i32::try_from(value)
        .or_else(|_| u32::try_from(value).map(u32::cast_signed))
        .map_err(|_| Stop::failed(format!("`{expression}` is no 32-bit number")))
}

/// The arguments of a call by their places.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a>(pub(super) &'a Call);

impl<'a> Arguments<'a> {
    pub(super) fn get(self, place: usize) -> Step<&'a Expression> {
        self.0.arguments.get(place).ok_or_else(|| {
            Stop::failed(format!("{} needs more arguments: {}", self.0.function, self.0))
        })
    }

    pub(super) fn int(self, place: usize) -> Step<i32> {
        int(self.get(place)?)
    }

    /// A number where there is one that means something.
    pub(super) fn int_or(self, place: usize, otherwise: i32) -> Step<i32> {
        match self.0.arguments.get(place) {
            None | Some(Expression::Any) => Ok(otherwise),
            Some(expression) => int(expression),
        }
    }

    pub(super) fn bytes(self, place: usize) -> Step<usize> {
        bytes(self.get(place)?)
    }
}

/// A count of bytes, up to 1 GiB.
pub(super) fn bytes(expression: &Expression) -> Step<usize> {
    usize::try_from(number(expression)?)
        .ok()
        .filter(|&bytes| bytes <= 1 << 30)
        .ok_or_else(|| Stop::failed(format!("`{expression}` is no count of bytes up to 1 GiB")))
}

/// A named field of a record.
pub(super) fn field<'a>(record: &'a Expression, name: &str) -> Option<&'a Expression> {
    let Expression::Record(fields) = record else { return None };
    fields.iter().find(|field| field.name.as_deref() == Some(name)).map(|field| &field.value)
}

/// A named field of a record that has to be there.
pub(super) fn needed_field<'a>(record: &'a Expression, name: &str) -> Step<&'a Expression> {
    field(record, name).ok_or_else(|| Stop::failed(format!("`{record}` has no field {name}")))
}

/// The members of a list; a single record stands for a list of one.
pub(super) fn members(expression: &Expression) -> Step<&[Expression]> {
    match expression {
        Expression::List(members) => Ok(members),
        Expression::Record(_) => Ok(std::slice::from_ref(expression)),
        other => Err(Stop::failed(format!("`{other}` is no list"))),
    }
}

/// A buffer: a text where one is written, else zeros; `length` bytes. `NULL` is none.
pub(super) fn buffer(expression: &Expression, length: usize) -> Buffer {
    let mut bytes = match expression {
        Expression::Text(text) => text.as_bytes().to_vec(),
        Expression::Name(name) if name == "NULL" => return Buffer::Nowhere(length),
        _ => Vec::new(),
    };
    bytes.resize(length, 0);
    Buffer::Bytes(bytes)
}

/// An error where what was handed back is not what is written; `...` is anything.
pub(super) fn expect_number(what: &str, expected: &Expression, seen: i64) -> Step<()> {
    if *expected == Expression::Any || number(expected)? == seen {
        return Ok(());
    }
    Err(Stop::failed(format!("{what}: expected {expected}, seen {seen}")))
}
