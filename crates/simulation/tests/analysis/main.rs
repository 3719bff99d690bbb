//! What is inferred from packets, held against endpoints that know why they sent each.

mod causes;
mod conversation;
mod matrix;
mod passages;
mod pictures;
