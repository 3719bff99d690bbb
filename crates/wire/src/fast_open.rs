//! The option of TCP Fast Open (RFC 7413 §4.1.1): a cookie, or the request for one.

/// A cookie: 4 to 16 bytes that a server made for a client's address, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Cookie {
    bytes: [u8; Self::GREATEST],
    len: u8,
}

impl Cookie {
    /// Most bytes of a cookie.
    pub const GREATEST: usize = 16;
    /// Least bytes of a cookie that is one.
    pub const LEAST: usize = 4;
    /// No bytes: a client's request for a cookie.
    pub const EMPTY: Self = Self { bytes: [0; Self::GREATEST], len: 0 };

    /// A cookie of these bytes; `None` where they are more than fit.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut cookie = Self::EMPTY;
        cookie.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        cookie.len = u8::try_from(bytes.len()).ok()?;
        Some(cookie)
    }

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Number of bytes.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it is a request for a cookie.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether it can be a cookie: an even number of 4 to 16 bytes.
    pub const fn is_well_formed(&self) -> bool {
        self.len() >= Self::LEAST && self.len.is_multiple_of(2)
    }
}

/// How the option is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FastOpenKind {
    /// Kind 34, as assigned.
    #[default]
    Assigned,
    /// Kind 254 with the magic number `0xf989`, as it was before (RFC 6994).
    Experimental,
}

/// The option (only with SYN).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FastOpen {
    /// How it is written.
    pub kind: FastOpenKind,
    /// The cookie; an empty one asks for one.
    pub cookie: Cookie,
}

impl FastOpen {
    /// Bytes of the option without padding.
    pub const fn option_bytes(&self) -> u32 {
        let head = match self.kind {
            FastOpenKind::Assigned => 2,
            FastOpenKind::Experimental => 4,
        };
        head + self.cookie.len as u32
    }
}
