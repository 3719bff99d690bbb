//! Streams at a tap, from hand-made packets.

mod afar;
mod anomalies;
mod answers;
mod anything;
mod causes;
mod rows;
mod tap;
mod time;
