//! Numbers in filters: constants, the length of the frame, bytes of the packet, and what is made of them.

use super::expression::Protocol;

/// Two numbers and how they are to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) left: Number,
    pub(super) comparison: Comparison,
    pub(super) right: Number,
}

/// A number of 32 bits without sign, which wraps, as in the programs of libpcap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Number {
    Constant(u32),
    /// Bytes of the frame on the link.
    Length,
    /// One, two or four bytes, the highest first, at a place behind the beginning of a header.
    Bytes {
        of: Protocol,
        at: Box<Number>,
        size: u8,
    },
    Negative(Box<Number>),
    Pair(Box<(Number, Operator, Number)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    ExclusiveOr,
    ShiftLeft,
    ShiftRight,
    Plus,
    Minus,
    Times,
    DividedBy,
    Remainder,
}

impl Comparison {
    pub(super) const ALL: [(&'static str, Self); 7] = [
        ("==", Self::Equal),
        ("=", Self::Equal),
        ("!=", Self::Unequal),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    #[inline]
    pub(super) const fn holds(self, left: u32, right: u32) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

impl Operator {
    /// Symbol, operator, and how strongly it binds.
    pub(super) const ALL: [(&'static str, Self, u8); 10] = [
        ("<<", Self::ShiftLeft, 2),
        (">>", Self::ShiftRight, 2),
        ("|", Self::Or, 1),
        ("&", Self::And, 1),
        ("^", Self::ExclusiveOr, 1),
        ("+", Self::Plus, 3),
        ("-", Self::Minus, 3),
        ("*", Self::Times, 4),
        ("/", Self::DividedBy, 4),
        ("%", Self::Remainder, 4),
    ];

    /// What it makes of two numbers; nothing of a division by zero. Shifts by 32 and more leave nothing.
    #[inline]
    pub(super) const fn apply(self, left: u32, right: u32) -> Option<u32> {
        Some(match self {
            Self::Or => left | right,
            Self::And => left & right,
            Self::ExclusiveOr => left ^ right,
            Self::ShiftLeft if right < 32 => left << right,
            Self::ShiftRight if right < 32 => left >> right,
            Self::ShiftLeft | Self::ShiftRight => 0,
            Self::Plus => left.wrapping_add(right),
            Self::Minus => left.wrapping_sub(right),
            Self::Times => left.wrapping_mul(right),
            Self::DividedBy => return left.checked_div(right),
            Self::Remainder => return left.checked_rem(right),
        })
    }
}

impl Relation {
    /// Whether it asks for nothing of a packet.
    pub(super) fn is_constant(&self) -> bool {
        self.left.is_constant() && self.right.is_constant()
    }

    /// Whether every header that it asks for holds `test`.
    pub(super) fn all_headers(&self, test: &impl Fn(Protocol) -> bool) -> bool {
        self.left.all_headers(test) && self.right.all_headers(test)
    }
}

impl Number {
    fn is_constant(&self) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Length | Self::Bytes { .. } => false,
            Self::Negative(one) => one.is_constant(),
            Self::Pair(pair) => pair.0.is_constant() && pair.2.is_constant(),
        }
    }

    fn all_headers(&self, test: &impl Fn(Protocol) -> bool) -> bool {
        match self {
            Self::Constant(_) | Self::Length => true,
            Self::Bytes { of, at, .. } => test(*of) && at.all_headers(test),
            Self::Negative(one) => one.all_headers(test),
            Self::Pair(pair) => pair.0.all_headers(test) && pair.2.all_headers(test),
        }
    }
}
