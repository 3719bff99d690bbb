//! A system call that is ready to be made, and its result.

use fairwind_linux::{self as linux, Buffer, Raw, Transfer};
use fairwind_packetdrill::{Expression, Step, Stop, text_bytes};
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

/// What the runner has to know of a call beside its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    /// It returns a descriptor.
    Opens,
    /// A descriptor of a connection.
    Accepts,
    /// It begins a connection on this descriptor.
    Connects(i64),
    /// This descriptor listens from now on.
    Listens(i64),
    /// This one is gone.
    Closes(i64),
}

/// A call that is ready to be made.
pub(super) struct Prepared {
    pub(super) job: Job,
    pub(super) effect: Effect,
}

impl Prepared {
    pub(super) fn new(job: impl FnOnce() -> Made + Send + 'static) -> Self {
        Self { job: Box::new(job), effect: Effect::None }
    }

    pub(super) fn with(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }
}

/// A call that is ready to be made, and the check of what it hands back besides its value.
pub(super) type Job = Box<dyn FnOnce() -> Made + Send>;

/// A call that has returned.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) raw: Raw,
    pub(super) at: Instant,
    /// What it handed back is as expected.
    pub(super) handed_back: Step<()>,
    /// Descriptors that it made besides its value, with the script's numbers.
    pub(super) descriptors: Vec<(i64, i32)>,
}

impl Made {
    /// A call that has returned just now and hands nothing back.
    pub(super) fn now(raw: Raw) -> Self {
        Self { raw, at: linux::monotonic(), handed_back: Ok(()), descriptors: Vec::new() }
    }

    /// The same with what came of a check.
    pub(super) fn checked(self, handed_back: Step<()>) -> Self {
        Self { handed_back, ..self }
    }
}

/// Descriptors, by the script's numbers.
#[derive(Debug, Default)]
pub(super) struct Descriptors(pub(super) BTreeMap<i64, i32>);

impl Descriptors {
    /// The kernel's number; one that a script has never opened is none of the kernel's either.
    pub(super) fn live(&self, expression: &Expression) -> Step<i32> {
        Ok(self.0.get(&expression.number()?).copied().unwrap_or(-1))
    }
}

/// How stamps of the wall clock are read: from when the script began, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stamps {
    pub(super) origin: u64,
    pub(super) tolerance: Span,
}

/// The buffers of `[{..., 100}, {..., 200}]`.
pub(super) fn buffers(vector: &Expression) -> Step<Transfer> {
    let one = |written: &Expression| match written {
        Expression::Record(fields) if fields.len() == 2 => {
            buffer(&fields[0].value, &fields[1].value)
        }
        _ => Err(Stop::failed(format!("`{written}` is not a buffer {{..., bytes}}"))),
    };
    Ok(Transfer { buffers: vector.members()?.iter().map(one).collect::<Step<_>>()? })
}

/// The buffers of a message.
pub(super) fn vector_of(message: &Expression) -> Step<Transfer> {
    match message.field("msg_iov") {
        None | Some(Expression::Any) => Ok(Transfer::default()),
        Some(vector) => buffers(vector),
    }
}

/// A buffer of so many bytes: a text where one is written, else zeros. `NULL` is none.
pub(super) fn buffer(content: &Expression, length: &Expression) -> Step<Buffer> {
    let length = byte_count(length)?;
    let mut bytes = match content {
        Expression::Text(text) => text_bytes(text),
        Expression::Name(name) if name == "NULL" => return Ok(Buffer::Nowhere(length)),
        _ => Vec::new(),
    };
    bytes.resize(length, 0);
    Ok(Buffer::Bytes(bytes))
}

/// A count of bytes as the C library takes it.
pub(super) fn byte_count(expression: &Expression) -> Step<usize> {
    Ok(usize::try_from(expression.bytes()?).expect("32 bits fit"))
}
