//! One rule for each key of a scenario's `tcp` table: what the kernel is told, and what it cannot
//! have. The page of the reference is made from this table, so what stands here is what is done.

mod constants;
mod mechanisms;
mod recovery;

use super::endpoint::Endpoint;
use serde::Serialize;

/// A key of a scenario's `tcp` table, and what the kernel makes of it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What the kernel is told.
    pub told: &'static str,
    /// What cannot be had, and where the kernel differs from the simulator.
    pub limits: &'static str,
    /// Asks for it, or refuses.
    #[serde(skip)]
    pub apply: fn(&mut Endpoint<'_>),
}

/// All keys, in the order of the scenario's reference.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    let tables: [&[Key]; 5] = [
        mechanisms::KEYS,
        recovery::KEYS,
        constants::KEYS,
        constants::BUFFER_KEYS,
        mechanisms::SHARING_KEYS,
    ];
    tables.into_iter().flatten()
}

#[cfg(test)]
mod tests;
