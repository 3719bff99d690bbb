//! TCP options as values, with Fast Open (RFC 7413 §4.1.1) and Accurate ECN (RFC 9768 §3.2.3).

use crate::SequenceNumber;

/// `TSval` and `TSecr` of the timestamps option (RFC 7323 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// The sender's clock (`TSval`).
    pub value: u32,
    /// The peer's clock, echoed (`TSecr`).
    pub echo: u32,
}

/// One block of received sequence space (RFC 2018 §3): from `left` up to, without, `right`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: SequenceNumber,
    /// Number after the end of the block.
    pub right: SequenceNumber,
}

/// Up to four SACK blocks, the most recent first; other options reduce the room.
///
/// A SYN has no blocks, and only a SYN has a Fast Open cookie. So the cookie shares the storage of
/// the blocks and costs other segments nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::CAPACITY],
    /// Number of blocks, or [`COOKIE`] with the kind and length of a Fast Open option.
    len: u8,
}

/// The place of the blocks holds a Fast Open option.
const COOKIE: u8 = 0x80;
/// The option is of the experimental kind.
const EXPERIMENTAL: u8 = 0x40;

impl SackBlocks {
    /// Maximum number in a TCP header.
    pub const CAPACITY: usize = 4;

    /// No blocks.
    pub const EMPTY: Self = Self {
        blocks: [SackBlock { left: SequenceNumber::new(0), right: SequenceNumber::new(0) };
            Self::CAPACITY],
        len: 0,
    };

    /// Appends a block; returns `false` without a change if there is no room.
    #[inline]
    pub fn push(&mut self, block: SackBlock) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = block;
        self.len += 1;
        true
    }

    /// The blocks in header order.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        self.blocks.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Number of blocks.
    #[inline]
    pub const fn len(&self) -> usize {
        if self.len & COOKIE == 0 { self.len as usize } else { 0 }
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[cold]
    fn of_fast_open(option: &FastOpen) -> Self {
        let mut held = Self::EMPTY;
        let mut bytes = [0; Cookie::MAX];
        bytes[..option.cookie.len()].copy_from_slice(option.cookie.as_slice());
        let (numbers, _) = bytes.as_chunks::<4>();
        let mut numbers = numbers.iter().map(|four| SequenceNumber::new(u32::from_be_bytes(*four)));
        for block in &mut held.blocks[..2] {
            block.left = numbers.next().unwrap_or_default();
            block.right = numbers.next().unwrap_or_default();
        }
        let kind = if option.kind == FastOpenKind::Experimental { EXPERIMENTAL } else { 0 };
        held.len = COOKIE | kind | u8::try_from(option.cookie.len()).unwrap_or(0);
        held
    }

    #[cold]
    fn to_fast_open(self) -> FastOpen {
        let kind = match self.len & EXPERIMENTAL {
            0 => FastOpenKind::Assigned,
            _ => FastOpenKind::Experimental,
        };
        let mut bytes = [0; Cookie::MAX];
        let numbers = self.blocks[..2].iter().flat_map(|block| [block.left, block.right]);
        for (four, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            four.copy_from_slice(&number.get().to_be_bytes());
        }
        let len = usize::from(self.len & !(COOKIE | EXPERIMENTAL));
        FastOpen { kind, cookie: Cookie::new(&bytes[..len]).unwrap_or_default() }
    }
}

impl FromIterator<SackBlock> for SackBlocks {
    /// Takes the first four.
    fn from_iter<I: IntoIterator<Item = SackBlock>>(blocks: I) -> Self {
        let mut taken = Self::EMPTY;
        for block in blocks {
            if !taken.push(block) {
                break;
            }
        }
        taken
    }
}

/// The options of one segment, in the layout that common stacks use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Maximum segment size that the sender can receive, in bytes (only with SYN).
    pub mss: Option<u16>,
    /// Shift count of the sender's window field (only with SYN, RFC 7323 §2).
    pub window_scale: Option<u8>,
    /// The sender can use selective acknowledgments (only with SYN, RFC 2018 §2).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgments.
    pub sack: SackBlocks,
    /// Bytes received by mark (RFC 9768).
    pub accurate_ecn: Option<AccurateEcn>,
}

impl Options {
    /// No options.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        sack: SackBlocks::EMPTY,
        accurate_ecn: None,
    };

    /// Bytes of these options in a header, padding included: 0 to 40, a multiple of 4.
    ///
    /// The layout is that of Linux and the BSDs: MSS (4), SACK-permitted and timestamps together
    /// (12, SACK-permitted replaces the two NOPs of bare timestamps), Accurate ECN, SACK-permitted
    /// without timestamps, with two NOPs (4), window scale with its NOP (4), SACK blocks with two
    /// NOPs (4 + 8 each), Fast Open, padded. Trailing bytes of Accurate ECN replace the NOPs of
    /// later options (Linux `tcp_options_write`).
    #[inline]
    pub const fn wire_bytes(&self) -> u32 {
        let mut bytes = 0;
        if self.mss.is_some() {
            bytes += 4;
        }
        if self.timestamps.is_some() {
            bytes += 12;
        } else if self.sack_permitted {
            bytes += 4;
        }
        if self.window_scale.is_some() {
            bytes += 4;
        }
        if self.sack.len != 0 {
            bytes += if self.sack.len & COOKIE == 0 {
                4 + 8 * self.sack.len as u32
            } else {
                self.fast_open_bytes()
            };
        }
        if self.accurate_ecn.is_some() {
            bytes += self.accurate_ecn_bytes();
        }
        bytes
    }

    /// The Fast Open option, where there is one (only with SYN, RFC 7413).
    pub fn fast_open(&self) -> Option<FastOpen> {
        (self.sack.len & COOKIE != 0).then(|| self.sack.to_fast_open())
    }

    /// The same options with this Fast Open option, which replaces SACK blocks.
    #[must_use]
    pub fn with_fast_open(self, option: &FastOpen) -> Self {
        Self { sack: SackBlocks::of_fast_open(option), ..self }
    }

    /// Bytes of the Fast Open option, padded.
    #[cold]
    const fn fast_open_bytes(&self) -> u32 {
        let head = if self.sack.len & EXPERIMENTAL == 0 { 2 } else { 4 };
        let cookie = (self.sack.len & !(COOKIE | EXPERIMENTAL)) as u32;
        (head + cookie).next_multiple_of(4)
    }

    /// Bytes that Accurate ECN adds to the others.
    #[cold]
    const fn accurate_ecn_bytes(&self) -> u32 {
        let Some(option) = self.accurate_ecn else { return 0 };
        let alone = option.option_bytes().next_multiple_of(4);
        let room = match option.fields() {
            0 => self.sack_permitted && self.timestamps.is_none() || !self.sack.is_empty(),
            1 => {
                self.sack_permitted && self.timestamps.is_none()
                    || self.window_scale.is_some()
                    || !self.sack.is_empty()
            }
            _ => false,
        };
        if room { alone - 4 } else { alone }
    }
}

/// A cookie: 4 to 16 bytes that a server made for a client's address, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Cookie {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl Cookie {
    /// Maximum length of a cookie in bytes.
    pub const MAX: usize = 16;
    /// Minimum length of a non-empty cookie in bytes.
    pub const MIN: usize = 4;
    /// No bytes: a client's request for a cookie.
    pub const EMPTY: Self = Self { bytes: [0; Self::MAX], len: 0 };

    /// A cookie of these bytes; `None` if there are too many.
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
        self.len() >= Self::MIN && self.len.is_multiple_of(2)
    }
}

/// Encoding of the option.
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
    /// Encoding.
    pub kind: FastOpenKind,
    /// The cookie; an empty one is a cookie request.
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

/// Which counter the option begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CounterOrder {
    /// Kind 172: ECT(0), CE, ECT(1).
    Ect0First,
    /// Kind 174: ECT(1), CE, ECT(0).
    #[default]
    Ect1First,
}

/// Bytes received with each mark, modulo 2^24.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counters {
    /// With ECT(0).
    pub ect0: u32,
    /// With CE.
    pub ce: u32,
    /// With ECT(1).
    pub ect1: u32,
}

/// The option: up to three counters of 24 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AccurateEcn {
    order: CounterOrder,
    fields: u8,
    /// The counters in the order of the header, three bytes each.
    bytes: [u8; 9],
}

impl AccurateEcn {
    /// Maximum number of counters.
    pub const MAX_FIELDS: u8 = 3;

    /// The first `fields` of these counters (at most three) in this order.
    pub fn new(order: CounterOrder, fields: u8, counters: Counters) -> Self {
        let fields = fields.min(Self::MAX_FIELDS);
        let listed = match order {
            CounterOrder::Ect0First => [counters.ect0, counters.ce, counters.ect1],
            CounterOrder::Ect1First => [counters.ect1, counters.ce, counters.ect0],
        };
        let mut option = Self { order, fields, bytes: [0; 9] };
        let places = option.bytes.chunks_exact_mut(3);
        for (place, counter) in places.zip(listed).take(usize::from(fields)) {
            place.copy_from_slice(&counter.to_be_bytes()[1..]);
        }
        option
    }

    /// The option from its bytes after kind and length; a partial counter is ignored.
    pub fn from_value(order: CounterOrder, value: &[u8]) -> Self {
        let fields = (value.len() / 3).min(usize::from(Self::MAX_FIELDS));
        let mut bytes = [0; 9];
        bytes[..3 * fields].copy_from_slice(&value[..3 * fields]);
        Self { order, fields: u8::try_from(fields).unwrap_or(0), bytes }
    }

    /// Order of the counters.
    pub const fn order(&self) -> CounterOrder {
        self.order
    }

    /// Number of counters.
    pub const fn fields(&self) -> u8 {
        self.fields
    }

    /// The bytes after kind and length.
    pub fn value(&self) -> &[u8] {
        &self.bytes[..3 * usize::from(self.fields)]
    }

    /// Bytes of the option without padding.
    pub const fn option_bytes(&self) -> u32 {
        2 + 3 * self.fields as u32
    }

    fn counter(&self, place: u8) -> Option<u32> {
        let at = 3 * usize::from(place);
        let [high, middle, low] = *self.value().get(at..at + 3)?.first_chunk()?;
        Some(u32::from_be_bytes([0, high, middle, low]))
    }

    /// Bytes received with ECT(0), if present.
    pub fn ect0(&self) -> Option<u32> {
        self.counter(if self.order == CounterOrder::Ect0First { 0 } else { 2 })
    }

    /// Bytes received with CE, if present.
    pub fn ce(&self) -> Option<u32> {
        self.counter(1)
    }

    /// Bytes received with ECT(1), if present.
    pub fn ect1(&self) -> Option<u32> {
        self.counter(if self.order == CounterOrder::Ect0First { 2 } else { 0 })
    }
}
