//! Connections and their lives, by hand-made packets.

mod dialogue;
mod lives;
mod many;
mod places;
