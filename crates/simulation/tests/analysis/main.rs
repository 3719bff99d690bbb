//! Inferences from packets against endpoints that know why they sent each; and what captures
//! show, held against what the simulation that wrote them counted.

mod agreement;
mod bundles;
mod causes;
mod conversation;
mod matrix;
mod passages;
mod pictures;
mod states;
mod truth;
mod writes;
