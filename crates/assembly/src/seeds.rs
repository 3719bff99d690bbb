//! One seed becomes many: every part of a run draws from its own generator, so that a change
//! in one does not disturb the others.

/// What a generator is for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// What links lose.
    Network = 1,
    /// When a flow starts.
    Start = 2,
    /// What an application writes.
    Application = 3,
    /// The data sender's initial sequence number.
    SenderSequence = 4,
    /// The receiver's initial sequence number.
    ReceiverSequence = 5,
    /// How long it is from one connection to the next of the same caller.
    Pause = 6,
}

/// A seed for one part: `SplitMix64` (Steele, Lea, Flood 2014) over seed, purpose and number.
pub fn derive_seed(seed: u64, purpose: Purpose, number: u64) -> u64 {
    let mixed = mix(seed ^ mix(purpose as u64));
    mix(mixed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
