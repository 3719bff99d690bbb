//! Streams at a tap, from hand-made packets.

mod afar;
mod answers;
mod anything;
mod causes;
mod oddities;
mod rows;
mod tap;
mod time;
