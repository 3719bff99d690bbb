//! Where in a connection's life a packet lies, where only a part of each connection counts.

/// Before the part that counts, in it, or behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Part {
    /// The connection is too young.
    Before,
    /// It counts.
    #[default]
    Within,
    /// The connection is too old.
    Behind,
}
