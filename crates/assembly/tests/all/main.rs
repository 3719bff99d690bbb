//! What an experiment is made of, held from outside.

mod foreign;
mod packets;
mod parcel;
mod recorded;
