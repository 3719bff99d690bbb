//! Connections from hand-made packets.

mod columns;
mod damage;
mod dialogue;
mod doubts;
mod groups;
mod joined;
mod lives;
mod many;
mod parts;
mod places;
mod slowest;
mod traces;
