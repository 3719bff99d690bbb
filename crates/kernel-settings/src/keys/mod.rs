//! Kernel settings for each key of a scenario's `tcp` table, and their limits. The reference page is
//! generated from this table.

mod constants;
mod mechanisms;
mod recovery;

use super::endpoint::Endpoint;
use serde::Serialize;

/// A key of a scenario's `tcp` table, and its kernel setting.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The kernel setting.
    pub setting: &'static str,
    /// What cannot be had, and where the kernel differs from the simulator.
    pub limits: &'static str,
    /// Applies the key to an endpoint, or refuses it.
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
