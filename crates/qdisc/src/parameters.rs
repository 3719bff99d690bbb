//! Parameters of disciplines without classes: each is described once, with its key, its field, its default and the way
//! that `tc` writes it. The key is that of scenarios and the word of `tc`.

use crate::limit::{QueueLimit, Resolver};
use crate::tc::words::{TcError, Words, print_per_cent, print_rate, print_share, print_time};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use std::fmt::Write as _;

/// A value of a scenario that sets the field of a description: directly, or resolved as a limit or a size.
pub(crate) trait Setting<T> {
    /// The value of the field; errors are noted under `key`.
    fn resolve(self, key: &str, resolver: &mut Resolver<'_>) -> T;
}

impl Setting<u32> for QueueLimit {
    fn resolve(self, key: &str, resolver: &mut Resolver<'_>) -> u32 {
        resolver.packets(key, self)
    }
}

impl Setting<u32> for ByteCount {
    fn resolve(self, key: &str, resolver: &mut Resolver<'_>) -> u32 {
        resolver.size(key, self)
    }
}

impl Setting<i32> for ByteCount {
    fn resolve(self, key: &str, resolver: &mut Resolver<'_>) -> i32 {
        i32::try_from(resolver.size(key, self)).unwrap_or(i32::MAX)
    }
}

impl Setting<u64> for ByteCount {
    fn resolve(self, _: &str, _: &mut Resolver<'_>) -> u64 {
        self.get()
    }
}

impl<S: Setting<T>, T> Setting<Option<T>> for S {
    fn resolve(self, key: &str, resolver: &mut Resolver<'_>) -> Option<T> {
        Some(self.resolve(key, resolver))
    }
}

/// Values that set a field as they are.
macro_rules! plain_settings {
    ($($value:ty),*) => {
        $(impl $crate::parameters::Setting<$value> for $value {
            fn resolve(self, _: &str, _: &mut $crate::limit::Resolver<'_>) -> $value {
                self
            }
        })*
    };
}

plain_settings!(u32, bool, Span, Ratio, BitRate);

/// Defines a discipline: the resolved description with its defaults, the parameters as a scenario writes them
/// (`...Input`), and the table of parameters that reads and prints the syntax of `tc`.
///
/// Each parameter is `key: type in a scenario => field: type = default, form in tc`; a `#[schemars]` attribute is for the
/// scenario's key, a `#[serde]` attribute for the field.
macro_rules! discipline {
    (
        $(#[$about:meta])*
        $discipline:ident, $(#[$about_input:meta])* $input:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[schemars($($schema:tt)*)])?
                $(#[serde($($serde:tt)*)])?
                $key:ident: $value:ty => $field:ident: $type:ty = $default:expr
                $(, $form:ident $(($off:literal))?)?;
            )*
        }
        $(ignored: $($ignored:literal),*;)?
        $(ignored with a value: $($valued:literal),*;)?
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $discipline {
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])?
                pub $field: $type,
            )*
        }

        impl Default for $discipline {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        $(#[$about_input])*
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $input {
            $(
                $(#[doc = $doc])*
                $(#[schemars($($schema)*)])?
                pub $key: Option<$value>,
            )*
        }

        impl $input {
            /// The description: the given keys, and defaults for the rest.
            pub(crate) fn resolve(&self, resolver: &mut $crate::limit::Resolver<'_>) -> $discipline {
                let mut discipline = $discipline::default();
                $(if let Some(value) = self.$key {
                    let key = stringify!($key);
                    discipline.$field = $crate::parameters::Setting::resolve(value, key, resolver);
                })*
                discipline
            }
        }

        $crate::parameters::parameter_table!(
            $discipline [$($([$key $form $(($off))? $field])?)*] [$($($ignored)*)?] [$($($valued)*)?]
        );
    };
}

/// Defines the parameters of a discipline in the syntax of `tc`, where it has any.
macro_rules! parameter_table {
    ($discipline:ident [] [] []) => {};
    (
        $discipline:ident
        [$([$key:ident $form:ident $(($off:literal))? $field:ident])*]
        [$($ignored:literal)*]
        [$($valued:literal)*]
    ) => {
        impl $discipline {
            /// Parameters in the syntax of `tc`.
            pub(crate) const PARAMETERS: &'static [$crate::parameters::Parameter<Self>] = &[
                $($crate::parameters::Parameter(
                    stringify!($key),
                    $crate::parameters::Field::$form($($off,)? |discipline| &mut discipline.$field),
                ),)*
                $($crate::parameters::Parameter($ignored, $crate::parameters::Field::Ignored),)*
                $($crate::parameters::Parameter($valued, $crate::parameters::Field::IgnoredValue),)*
            ];
        }
    };
}

pub(crate) use {discipline, parameter_table, plain_settings};

/// Overrides the default where a value is given.
pub(crate) fn set<T>(default: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *default = given;
    }
}

/// A parameter of the discipline `D`: the word that `tc` has for it, and the field it sets.
pub(crate) struct Parameter<D>(pub(crate) &'static str, pub(crate) Field<D>);

/// A field of a description, by the way its value is written.
pub(crate) enum Field<D> {
    Count(fn(&mut D) -> &mut u32),
    /// Bytes that fit in 32 bits.
    Size(fn(&mut D) -> &mut u32),
    Bytes(fn(&mut D) -> &mut u64),
    Time(fn(&mut D) -> &mut Span),
    OptionalTime(fn(&mut D) -> &mut Option<Span>),
    /// A bare number is in seconds; zero is not printed.
    Seconds(fn(&mut D) -> &mut Span),
    Rate(fn(&mut D) -> &mut BitRate),
    OptionalRate(fn(&mut D) -> &mut Option<BitRate>),
    Share(fn(&mut D) -> &mut Ratio),
    PerCent(fn(&mut D) -> &mut Ratio),
    /// The word alone switches it on.
    Flag(fn(&mut D) -> &mut bool),
    /// The word switches it on, another one off.
    Switch(&'static str, fn(&mut D) -> &mut bool),
    /// The word has no effect here.
    Ignored,
    /// The word and the value behind it have no effect here.
    IgnoredValue,
}

/// Reads the parameters of `table` into `description`, up to the last word.
pub(crate) fn read<D>(
    table: &[Parameter<D>],
    mut description: D,
    words: &mut Words<'_>,
) -> Result<D, TcError> {
    let known: Vec<&'static str> = table.iter().flat_map(Parameter::words).collect();
    while let Some(word) = words.option(&known)? {
        let named = table.iter().find(|parameter| parameter.words().any(|known| known == word));
        if let Some(Parameter(name, field)) = named {
            field.read(&mut description, *name == word, words)?;
        }
    }
    Ok(description)
}

/// The parameters of `table` as words, each behind a blank.
pub(crate) fn print<D: Clone>(table: &[Parameter<D>], description: &D) -> String {
    let (mut copy, mut text) = (description.clone(), String::new());
    for Parameter(name, field) in table {
        field.print(name, &mut copy, &mut text);
    }
    text
}

impl<D> Parameter<D> {
    /// The words that name it: two for a switch.
    fn words(&self) -> impl Iterator<Item = &'static str> + use<D> {
        let off = if let Field::Switch(off, _) = self.1 { Some(off) } else { None };
        std::iter::once(self.0).chain(off)
    }
}

impl<D> Field<D> {
    /// Reads the value behind the parameter's word; `is_on` distinguishes a switch's words.
    fn read(&self, into: &mut D, is_on: bool, words: &mut Words<'_>) -> Result<(), TcError> {
        match self {
            Self::Count(field) => *field(into) = words.count()?,
            Self::Size(field) => *field(into) = words.size()?,
            Self::Bytes(field) => *field(into) = words.bytes()?,
            Self::Time(field) => *field(into) = words.time()?,
            Self::OptionalTime(field) => *field(into) = Some(words.time()?),
            Self::Seconds(field) => *field(into) = words.seconds()?,
            Self::Rate(field) => *field(into) = words.rate()?,
            Self::OptionalRate(field) => *field(into) = Some(words.rate()?),
            Self::Share(field) => *field(into) = words.share()?,
            Self::PerCent(field) => *field(into) = words.per_cent()?,
            Self::Flag(field) => *field(into) = true,
            Self::Switch(_, field) => *field(into) = is_on,
            Self::Ignored => {}
            Self::IgnoredValue => {
                words.value("its value")?;
            }
        }
        Ok(())
    }

    fn print(&self, name: &str, of: &mut D, text: &mut String) {
        let value = match self {
            Self::Count(field) | Self::Size(field) => field(of).to_string(),
            Self::Bytes(field) => field(of).to_string(),
            Self::Time(field) => print_time(*field(of)),
            Self::OptionalTime(field) => match *field(of) {
                Some(time) => print_time(time),
                None => return,
            },
            Self::Seconds(field) => match *field(of) {
                time if time.is_zero() => return,
                time => print_seconds(time),
            },
            Self::Rate(field) => print_rate(*field(of)),
            Self::OptionalRate(field) => match *field(of) {
                Some(rate) => print_rate(rate),
                None => return,
            },
            Self::Share(field) => print_share(*field(of)),
            Self::PerCent(field) => print_per_cent(*field(of)),
            Self::Flag(field) => {
                if *field(of) {
                    let _ = write!(text, " {name}");
                }
                return;
            }
            Self::Switch(off, field) => {
                let _ = write!(text, " {}", if *field(of) { name } else { off });
                return;
            }
            Self::Ignored | Self::IgnoredValue => return,
        };
        let _ = write!(text, " {name} {value}");
    }
}

/// A bare number of seconds, which is all that `tc` takes here, or else a time.
fn print_seconds(time: Span) -> String {
    let text = print_time(time);
    match text.strip_suffix('s').filter(|digits| digits.parse::<u32>().is_ok()) {
        Some(digits) => digits.to_owned(),
        None => text,
    }
}
