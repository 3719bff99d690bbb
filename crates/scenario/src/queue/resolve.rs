//! From a queue as described to a discipline with all its parameters.

use super::{QueueInput, QueueTable};
use crate::QueueLimit;
use crate::error::nearest;
use fairwind_qdisc::{
    CakeIsolation, CakeTins, DEFAULT_BANDWIDTH, DEFAULT_BYTES, DEFAULT_PACKETS, Qdisc,
};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};

/// What a queue's limits are resolved with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Rate at which the queue is emptied, where it is known.
    pub(crate) rate: Option<BitRate>,
    /// Round-trip time of the path, where there is one.
    pub(crate) rtt: Option<Span>,
    /// Largest packet.
    pub(crate) mtu: ByteCount,
}

/// What is wrong with a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The key, as printed in errors.
    pub(crate) key: String,
    /// The rule that it breaks.
    pub(crate) rule: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

/// The discipline that `input`, which stands at `key`, describes, and what is wrong with it. With faults, it is of use
/// to nobody.
pub(crate) fn resolve(input: &QueueInput, scale: Scale, key: &str) -> (Qdisc, Vec<Fault>) {
    let mut faults = Vec::new();
    let queue = Resolver { scale, key: key.to_owned(), faults: &mut faults }.queue(input);
    (queue, faults)
}

/// A queue while it is resolved.
pub(super) struct Resolver<'f> {
    scale: Scale,
    key: String,
    faults: &'f mut Vec<Fault>,
}

impl Resolver<'_> {
    fn queue(&mut self, input: &QueueInput) -> Qdisc {
        match input {
            QueueInput::Text(text) => text.queue(self.bandwidth()).unwrap_or_default(),
            QueueInput::Table(table) => self.table(table),
        }
    }

    fn table(&mut self, table: &QueueTable) -> Qdisc {
        match table {
            QueueTable::Pfifo { limit } => {
                let packets = limit.map(|limit| self.packets("limit", limit));
                Qdisc::Pfifo { limit_packets: packets.unwrap_or(DEFAULT_PACKETS) }
            }
            QueueTable::Bfifo { limit } => {
                // Less than one packet would let nothing wait at all.
                let least = self.scale.mtu.get();
                let bytes = limit.map(|limit| self.bytes("limit", limit).max(least));
                Qdisc::Bfifo { limit_bytes: bytes.unwrap_or(DEFAULT_BYTES) }
            }
            QueueTable::Red(input) => input.resolve(self),
            QueueTable::Choke(input) => input.resolve(self),
            QueueTable::Codel(input) => input.resolve(self),
            QueueTable::Pie(input) => input.resolve(self),
            QueueTable::Dualpi2(input) => input.resolve(self),
            QueueTable::Sfq(input) => input.resolve(self),
            QueueTable::FqCodel(input) => input.resolve(self),
            QueueTable::FqPie(input) => input.resolve(self),
            QueueTable::Cake(input) => input.resolve(self),
            QueueTable::Drr(input) => input.resolve(self),
            QueueTable::Prio(input) => input.resolve(self),
            QueueTable::Tbf(input) => input.resolve(self),
            QueueTable::Htb(input) => input.resolve(self),
        }
    }

    /// The queue below, at `key` of this one.
    pub(super) fn child(&mut self, key: &str, input: &QueueInput) -> Qdisc {
        let key = self.key_of(key);
        Resolver { scale: self.scale, key, faults: self.faults }.queue(input)
    }

    /// The queue below, or what `tc` puts there.
    pub(super) fn child_or_pfifo(&mut self, key: &str, input: Option<&QueueInput>) -> Qdisc {
        let usual = Qdisc::Pfifo { limit_packets: DEFAULT_PACKETS };
        input.map_or(usual, |input| self.child(key, input))
    }

    /// The same, where no more than `rate` leaves.
    pub(super) fn shaped_to(&mut self, rate: BitRate) -> Resolver<'_> {
        let slower = self.scale.rate.map_or(rate, |link| link.min(rate));
        let scale = Scale { rate: Some(slower), ..self.scale };
        Resolver { scale, key: self.key.clone(), faults: self.faults }
    }

    /// The rate at which the queue is emptied, or what `tc` takes for it.
    pub(super) fn bandwidth(&self) -> BitRate {
        self.scale.rate.unwrap_or(DEFAULT_BANDWIDTH)
    }

    /// `limit` in packets.
    pub(super) fn packets(&mut self, key: &str, limit: QueueLimit) -> u32 {
        let Scale { rate, rtt, mtu } = self.scale;
        if !self.is_possible(key, limit) {
            return 1;
        }
        if matches!(limit, QueueLimit::Packets(packets) if packets > u64::from(u32::MAX)) {
            self.fault(key, "a queue holds at most 4294967295 packets".to_owned(), None);
        }
        let packets = limit.packets(rate, rtt, mtu).unwrap_or(1);
        u32::try_from(packets).unwrap_or(u32::MAX)
    }

    /// `limit` in bytes.
    pub(super) fn bytes(&mut self, key: &str, limit: QueueLimit) -> u64 {
        let Scale { rate, rtt, mtu } = self.scale;
        if !self.is_possible(key, limit) {
            return 1;
        }
        limit.bytes(rate, rtt, mtu).map_or(1, ByteCount::get)
    }

    fn is_possible(&mut self, key: &str, limit: QueueLimit) -> bool {
        let Scale { rate, rtt, .. } = self.scale;
        let found = self.faults.len();
        if limit.is_zero() {
            self.fault(key, "a queue holds one packet or more".to_owned(), None);
        }
        let needs_rate = matches!(limit, QueueLimit::Time(_) | QueueLimit::BandwidthDelay(_));
        if needs_rate && rate.is_none() {
            let rule = "a time or a product needs a rate, and this link has none".to_owned();
            self.fault(key, rule, Some("give the link a rate, or write it in packets or bytes"));
        } else if matches!(limit, QueueLimit::BandwidthDelay(_)) && rtt.is_none() {
            let rule = "a link has no round-trip time of its own to take the product with";
            let hint = "write it as a time or in packets: \"20 ms\", \"9 packets\"";
            self.fault(key, rule.to_owned(), Some(hint));
        }
        self.faults.len() == found
    }

    /// A number of bytes that a packet may have.
    pub(super) fn size(&mut self, key: &str, size: ByteCount) -> u32 {
        u32::try_from(size.get()).unwrap_or_else(|_| {
            self.fault(key, "it must be less than 4 GiB".to_owned(), None);
            u32::MAX
        })
    }

    /// Index of the class called `name`.
    pub(super) fn class(&mut self, key: &str, name: &str, names: &[String]) -> Option<usize> {
        let index = names.iter().position(|known| known == name);
        if index.is_none() {
            let hint = nearest(name, names.iter().map(String::as_str)).map_or_else(
                || format!("there are {}", names.join(", ")),
                |nearest| format!("did you mean \"{nearest}\"?"),
            );
            self.fault(key, "no class is called so".to_owned(), Some(&hint));
        }
        index
    }

    /// Notes what is wrong with `key`.
    pub(super) fn fault(&mut self, key: &str, rule: String, hint: Option<&str>) {
        let hint = hint.map(str::to_owned);
        self.faults.push(Fault { key: self.key_of(key), rule, hint });
    }

    fn key_of(&self, key: &str) -> String {
        format!("{}.{key}", self.key)
    }
}

/// A value of a scenario that sets the field of a description: directly, or resolved as a limit or a size.
pub(super) trait Setting<T> {
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

macro_rules! plain_settings {
    ($($value:ty),*) => {
        $(impl Setting<$value> for $value {
            fn resolve(self, _: &str, _: &mut Resolver<'_>) -> $value {
                self
            }
        })*
    };
}

plain_settings!(u32, bool, Span, Ratio, BitRate, CakeTins, CakeIsolation);

/// Defines the parameters of a discipline as a scenario writes them, each with the field of the description that it
/// sets instead of the default.
macro_rules! parameters {
    (
        $(#[$about:meta])*
        $input:ident => $discipline:ident {
            $($(#[$about_key:meta])* $key:ident: $value:ty => $field:ident,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $input {
            $($(#[$about_key])* pub $key: Option<$value>,)*
        }

        impl $input {
            pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
                let mut discipline = $discipline::default();
                $(if let Some(value) = self.$key {
                    let key = stringify!($key);
                    discipline.$field = $crate::queue::resolve::Setting::resolve(value, key, resolver);
                })*
                Qdisc::$discipline(discipline)
            }
        }
    };
}

pub(super) use parameters;

/// Overrides the default where a value is given.
pub(super) fn set<T>(default: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *default = given;
    }
}
