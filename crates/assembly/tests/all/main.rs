//! Tests of the public interface.

mod foreign;
mod packets;
mod parcel;
mod recorded;
