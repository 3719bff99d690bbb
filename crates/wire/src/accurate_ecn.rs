//! The option of Accurate ECN (RFC 9768 §3.2.3): how many bytes arrived with which mark.

/// Which counter the option begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CounterOrder {
    /// Kind 172: ECT(0), CE, ECT(1).
    Zero,
    /// Kind 174: ECT(1), CE, ECT(0).
    #[default]
    One,
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
    /// Most counters.
    pub const MOST_FIELDS: u8 = 3;

    /// The first `fields` of these counters (at most three) in this order.
    pub fn new(order: CounterOrder, fields: u8, counters: Counters) -> Self {
        let fields = fields.min(Self::MOST_FIELDS);
        let listed = match order {
            CounterOrder::Zero => [counters.ect0, counters.ce, counters.ect1],
            CounterOrder::One => [counters.ect1, counters.ce, counters.ect0],
        };
        let mut option = Self { order, fields, bytes: [0; 9] };
        let places = option.bytes.chunks_exact_mut(3);
        for (place, counter) in places.zip(listed).take(usize::from(fields)) {
            place.copy_from_slice(&counter.to_be_bytes()[1..]);
        }
        option
    }

    /// The option as it stands in a header: the bytes behind kind and length. Counters are taken as
    /// far as they are whole.
    pub fn from_value(order: CounterOrder, value: &[u8]) -> Self {
        let fields = (value.len() / 3).min(usize::from(Self::MOST_FIELDS));
        let mut bytes = [0; 9];
        bytes[..3 * fields].copy_from_slice(&value[..3 * fields]);
        Self { order, fields: u8::try_from(fields).unwrap_or(0), bytes }
    }

    /// Which counter comes first.
    pub const fn order(&self) -> CounterOrder {
        self.order
    }

    /// How many counters there are.
    pub const fn fields(&self) -> u8 {
        self.fields
    }

    /// The bytes behind kind and length.
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

    /// Bytes received with ECT(0), where the option says so.
    pub fn ect0(&self) -> Option<u32> {
        self.counter(if self.order == CounterOrder::Zero { 0 } else { 2 })
    }

    /// Bytes received with CE, where the option says so.
    pub fn ce(&self) -> Option<u32> {
        self.counter(1)
    }

    /// Bytes received with ECT(1), where the option says so.
    pub fn ect1(&self) -> Option<u32> {
        self.counter(if self.order == CounterOrder::Zero { 2 } else { 0 })
    }
}
