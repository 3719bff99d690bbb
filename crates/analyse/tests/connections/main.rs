//! Connections from hand-made packets.

mod columns;
mod damage;
#[path = "../../../measure/tests/measures/definitions.rs"]
mod definitions;
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
mod turns;
