//! What an experiment is made of, held from outside.

mod foreign;
mod parcel;
mod recorded;
