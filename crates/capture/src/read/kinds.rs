//! What can be wrong with a capture file that is read all the same.

use crate::NoteKind;

/// The file ends within a record or block.
pub const CUT_OFF: NoteKind = NoteKind::new(
    "cut_off",
    "the file ends within a record, as if its writer had been stopped",
    "record",
    "records",
);

/// A record or block cannot be what it says; reading went on at the next place that looks like one.
pub const DAMAGED: NoteKind = NoteKind::new(
    "damaged",
    "records cannot be what they say; reading went on at the next that can",
    "place",
    "places",
);

/// Bytes between a damaged place and the one where reading went on.
pub const BYTES_PASSED_OVER: NoteKind =
    NoteKind::new("bytes_passed_over", "bytes behind damage were not read", "byte", "bytes");

/// A record keeps more bytes than the snap length allows.
pub const BEYOND_SNAP_LENGTH: NoteKind = NoteKind::new(
    "beyond_snap_length",
    "records keep more bytes than the file's snap length, and were read all the same",
    "record",
    "records",
);

/// A record keeps more bytes than the packet is said to have had.
pub const LONGER_THAN_PACKET: NoteKind = NoteKind::new(
    "longer_than_packet",
    "records keep more bytes than the packet is said to have had; the kept bytes count",
    "record",
    "records",
);

/// A record says a packet length that cannot be.
pub const LENGTH_ON_LINK: NoteKind = NoteKind::new(
    "length_on_link",
    "records say a length on the link that cannot be; the kept bytes count",
    "record",
    "records",
);

/// The fraction of a second is a second or more.
pub const FRACTION_OF_SECOND: NoteKind = NoteKind::new(
    "fraction_of_second",
    "timestamps have a fraction of more than a second, which was added",
    "record",
    "records",
);

/// A block's two lengths differ.
pub const TRAILING_LENGTH: NoteKind = NoteKind::new(
    "trailing_length",
    "blocks end with another length than they begin with; the first was believed",
    "block",
    "blocks",
);

/// A block's length is no multiple of four.
pub const UNPADDED_LENGTH: NoteKind = NoteKind::new(
    "unpadded_length",
    "blocks have a length that is no multiple of four",
    "block",
    "blocks",
);

/// A block of a kind that nobody has described.
pub const UNKNOWN_BLOCK: NoteKind =
    NoteKind::new("unknown_block", "blocks of an unknown kind were passed over", "block", "blocks");

/// A packet names an interface that its section has not described.
pub const UNKNOWN_INTERFACE: NoteKind = NoteKind::new(
    "unknown_interface",
    "packets of an interface that the section does not describe were not read",
    "packet",
    "packets",
);

/// More interfaces than are kept.
pub const TOO_MANY_INTERFACES: NoteKind = NoteKind::new(
    "too_many_interfaces",
    "a section describes more interfaces than are kept; packets of the others are not read",
    "interface",
    "interfaces",
);

/// Options of a block cannot be read.
pub const OPTIONS: NoteKind = NoteKind::new(
    "options",
    "options of blocks cannot be read and were left out",
    "block",
    "blocks",
);

/// A packet has no time of its own (pcapng's simple packets).
pub const NO_TIME: NoteKind = NoteKind::new(
    "no_time",
    "packets without timestamp have the time of the packet before",
    "packet",
    "packets",
);

/// The beginning of the file is not what a capture begins with, but what follows is.
pub const BEGINNING: NoteKind = NoteKind::new(
    "beginning",
    "the file does not begin as a capture does; what follows was read",
    "file",
    "files",
);

/// Packets that the capture itself missed, by its own word.
pub const MISSED: NoteKind = NoteKind::new(
    "missed",
    "the capture itself missed packets, says the file",
    "packet",
    "packets",
);

/// A timestamp is earlier than the one before.
pub const TIME_RAN_BACK: NoteKind = NoteKind::new(
    "time_ran_back",
    "timestamps are earlier than the packet before",
    "packet",
    "packets",
);

/// An hour or more without a packet.
pub const LONG_SILENCE: NoteKind =
    NoteKind::new("long_silence", "an hour or more lies between two packets", "time", "times");

/// Reading failed.
pub const READING_FAILED: NoteKind = NoteKind::new(
    "reading_failed",
    "reading failed, and the rest of the file is unread",
    "file",
    "files",
);

/// A file among others that is no capture, or holds nothing.
pub const NOT_READ: NoteKind =
    NoteKind::new("not_read", "files are no captures and were left out", "file", "files");
