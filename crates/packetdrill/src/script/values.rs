//! Values in calls: constants of the Linux headers, numbers, records and arguments.
#![expect(clippy::missing_errors_doc, reason = "an error says what the script should have there")]

use super::ast::{Call, Expression};
use super::constants::{CONSTANTS, ERRNOS};
use crate::outcome::{Step, Stop};

pub(crate) fn constant(name: &str) -> Option<i64> {
    CONSTANTS.iter().chain(ERRNOS).find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// The name of an error of a call.
pub fn errno_name(errno: i32) -> String {
    let named = ERRNOS.iter().find(|(_, value)| *value == i64::from(errno));
    named.map_or_else(|| format!("errno {errno}"), |(name, _)| (*name).to_owned())
}

/// The name of a socket option of this level, which scripts may also write as a number.
pub(crate) fn option_name(level: i64, number: i64) -> Option<&'static str> {
    let beginning = match level {
        0 => "IP_",
        1 => "SO_",
        6 => "TCP_",
        41 => "IPV6_",
        _ => return None,
    };
    // Values of options share the prefixes of their names.
    let is_option = |name: &str| !name.contains("PMTUDISC") && !name.contains("_EE_");
    let known = CONSTANTS
        .iter()
        .find(|(name, value)| *value == number && name.starts_with(beginning) && is_option(name));
    known.map(|(name, _)| *name)
}

/// Bytes of a text with `\\xHH` escapes.
pub fn text_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hexadecimal = rest.strip_prefix("\\x").and_then(|digits| digits.get(..2));
        if let Some(Ok(byte)) = hexadecimal.map(|digits| u8::from_str_radix(digits, 16)) {
            bytes.push(byte);
            rest = &rest[4..];
        } else {
            let (character, behind) = rest.split_at(first.len_utf8());
            bytes.extend_from_slice(character.as_bytes());
            rest = behind;
        }
    }
    bytes
}

/// More bytes than this in one call is no script.
const MAX_BYTES: u32 = 1 << 30;

impl Expression {
    /// The number that this denotes.
    pub fn number(&self) -> Step<i64> {
        match self {
            Self::Integer(number) => Ok(*number),
            Self::Name(name) => constant(name)
                .ok_or_else(|| Stop::unsupported(format!("the name {name} is not known here"))),
            Self::Union(members) => {
                members.iter().try_fold(0, |union, member| Ok(union | member.number()?))
            }
            Self::List(members) if members.len() == 1 => members[0].number(),
            // Ports are kept as they are read; they are turned where an address is made.
            Self::Function(name, arguments)
                if matches!(name.as_str(), "htons" | "htonl" | "ntohs" | "ntohl")
                    && arguments.len() == 1 =>
            {
                arguments[0].number()
            }
            other => Err(Stop::failed(format!("`{other}` is no number"))),
        }
    }

    /// The number as a C `int`; bits beyond are an error.
    pub fn int(&self) -> Step<i32> {
        let value = self.number()?;
        i32::try_from(value)
            .or_else(|_| u32::try_from(value).map(u32::cast_signed))
            .map_err(|_| Stop::failed(format!("`{self}` is no 32-bit number")))
    }

    /// A count of bytes.
    pub fn bytes(&self) -> Step<u32> {
        u32::try_from(self.number()?)
            .ok()
            .filter(|&bytes| bytes <= MAX_BYTES)
            .ok_or_else(|| Stop::failed(format!("`{self}` is no count of bytes up to 1 GiB")))
    }

    /// The field of this name of a record.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Record(fields) = self else { return None };
        fields.iter().find(|field| field.name.as_deref() == Some(name)).map(|field| &field.value)
    }

    /// A required field.
    pub fn required_field(&self, name: &str) -> Step<&Self> {
        self.field(name).ok_or_else(|| Stop::failed(format!("`{self}` has no field {name}")))
    }

    /// Members of a list; a single record counts as a list of one.
    pub fn members(&self) -> Step<&[Self]> {
        match self {
            Self::List(members) => Ok(members),
            Self::Record(_) => Ok(std::slice::from_ref(self)),
            other => Err(Stop::failed(format!("`{other}` is no list"))),
        }
    }

    /// The only member of `[value]`, or the value itself.
    pub fn only_member(&self) -> &Self {
        match self {
            Self::List(members) if members.len() == 1 => &members[0],
            other => other,
        }
    }

    /// The expression, unless it is `...`.
    pub fn given(&self) -> Option<&Self> {
        (*self != Self::Any).then_some(self)
    }

    /// An error if the returned number differs from the script; `...` matches any.
    pub fn expect_number(&self, what: &str, seen: i64) -> Step<()> {
        if *self == Self::Any || self.number()? == seen {
            return Ok(());
        }
        Err(Stop::failed(format!("{what}: expected {self}, seen {seen}")))
    }

    /// The events and the data of each `struct epoll_event` of a list, unless it is `...`.
    pub fn epoll_events(&self) -> Step<Option<Vec<(i64, i64)>>> {
        let events = |list: &Self| list.members()?.iter().map(Self::epoll_event).collect();
        self.given().map(events).transpose()
    }

    /// The events and the data of a `struct epoll_event`; data is whatever the script writes.
    pub fn epoll_event(&self) -> Step<(i64, i64)> {
        let data = ["fd", "u32", "u64", "ptr"].iter().find_map(|name| self.field(name));
        Ok((self.required_field("events")?.number()?, data.map_or(Ok(0), Self::number)?))
    }
}

impl Call {
    /// The argument at this place.
    pub fn argument(&self, place: usize) -> Step<&Expression> {
        self.arguments
            .get(place)
            .ok_or_else(|| Stop::failed(format!("{} needs more arguments: {self}", self.function)))
    }

    /// The argument at this place as a number.
    pub fn number(&self, place: usize) -> Step<i64> {
        self.argument(place)?.number()
    }

    /// The number, or the only member of a list, at this place, if there is one and it is not `...`.
    pub(crate) fn given_number(&self, place: usize) -> Step<Option<i64>> {
        let argument = self.arguments.get(place).map(Expression::only_member);
        argument.and_then(Expression::given).map(Expression::number).transpose()
    }

    /// A number where there is one; flags of a call that were left out are none.
    pub(crate) fn number_or(&self, place: usize, otherwise: i64) -> Step<i64> {
        self.arguments.get(place).map_or(Ok(otherwise), Expression::number)
    }

    /// The argument at this place as a C `int`.
    pub fn int(&self, place: usize) -> Step<i32> {
        self.argument(place)?.int()
    }

    /// A C `int`, or the default if the argument is not a number.
    pub fn int_or(&self, place: usize, otherwise: i32) -> Step<i32> {
        match self.arguments.get(place) {
            None | Some(Expression::Any) => Ok(otherwise),
            Some(argument) => argument.int(),
        }
    }

    /// The argument at this place as a count of bytes.
    pub fn bytes(&self, place: usize) -> Step<u32> {
        self.argument(place)?.bytes()
    }

    /// The descriptor that the call returns, where it returns one.
    pub fn returned_descriptor(&self) -> Option<i64> {
        match self.result {
            Expression::Integer(number) if number >= 0 => Some(number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_once() {
        let mut names: Vec<&str> = CONSTANTS.iter().chain(ERRNOS).map(|(name, _)| *name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn options_are_found_by_level_and_number() {
        assert_eq!(option_name(6, 1), Some("TCP_NODELAY"));
        assert_eq!(option_name(1, 13), Some("SO_LINGER"));
        assert_eq!(option_name(0, 10), Some("IP_MTU_DISCOVER"));
        assert_eq!(option_name(6, 9999), None);
    }
}
