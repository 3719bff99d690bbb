//! Connections and their lives, by hand-made packets.

mod dialogue;
mod groups;
mod lives;
mod many;
mod places;
