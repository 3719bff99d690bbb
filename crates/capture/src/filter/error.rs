//! Why a text is no filter.

use thiserror::Error;

/// Why a text is no filter, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("filter `{filter}`, character {character}: {problem}")]
pub struct FilterError {
    /// The whole text.
    pub filter: String,
    /// The character at which it does not go on, counted from 1.
    pub character: usize,
    /// What is the matter.
    pub problem: FilterProblem,
}

/// What is the matter with a filter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FilterProblem {
    /// Not a word of the language.
    #[error("`{word}` is no word of pcap-filter{}", hint(*.nearest))]
    UnknownWord {
        /// What stands there.
        word: String,
        /// The word that is most like it.
        nearest: Option<&'static str>,
    },
    /// Something else has to stand there.
    #[error("{found}, where {expected} is expected")]
    Expected {
        /// What stands there.
        found: String,
        /// What can stand there.
        expected: &'static str,
    },
    /// A word of the language that says nothing about TCP over IP.
    #[error("`{word}` is not read here, because it cannot tell one TCP packet from another")]
    NotRead {
        /// The word.
        word: &'static str,
    },
    /// A name in the place of an address or a number.
    #[error("`{name}` is no {what}; names are not looked up, so write {example}")]
    Name {
        /// What stands there.
        name: String,
        /// What it should be.
        what: &'static str,
        /// Such as this.
        example: &'static str,
    },
    /// Words that do not go together.
    #[error("{first} does not go with {second}; {advice}")]
    Mixed {
        /// What stands there.
        first: String,
        /// And what it should qualify.
        second: &'static str,
        /// What to write.
        advice: &'static str,
    },
    /// A number that is greater than what it counts.
    #[error("{what} of {number} is more than {most}")]
    TooGreat {
        /// What it counts.
        what: &'static str,
        /// What stands there.
        number: String,
        /// The greatest that there is.
        most: u32,
    },
    /// An address that says more than the network that it should name.
    #[error(
        "the address of network {network} has bits behind its mask; {address} is the network's own"
    )]
    HostBits {
        /// What stands there.
        network: String,
        /// The address without those bits.
        address: String,
    },
    /// Division by the constant zero.
    #[error("a division by zero")]
    DivisionByZero,
    /// More operators between numbers than a filter may have.
    #[error("the filter has more than {most} operators between numbers")]
    TooManyOperators {
        /// How many it may have.
        most: u32,
    },
    /// Parentheses within parentheses within parentheses.
    #[error("parentheses are nested more than {most} deep")]
    TooDeep {
        /// How deep they may be.
        most: u32,
    },
    /// Longer than filters may be.
    #[error("the filter has {bytes} bytes, which is more than {most}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
}

fn hint(nearest: Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}
