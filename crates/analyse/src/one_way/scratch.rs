//! Lists that are filled and emptied for one packet, kept so that nothing is allocated for it.

use super::flight::Loss;
use super::transmission::Piece;

/// Such lists.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) pieces: Vec<Piece>,
    pub(super) parts: Vec<(u64, u64)>,
    pub(super) losses: Vec<Loss>,
}
