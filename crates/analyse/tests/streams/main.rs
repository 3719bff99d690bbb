//! Streams at a tap, from hand-made packets.

mod afar;
mod anomalies;
mod answers;
mod anything;
mod causes;
#[path = "../../../measure/tests/measures/definitions.rs"]
mod definitions;
mod rows;
mod tap;
mod time;
