//! What a capture file says of itself and of the points where packets were seen.

use crate::CaptureError;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};
use std::borrow::Cow;
use std::num::NonZeroU32;

/// Timestamps count units of 10^-9 seconds (option `if_tsresol`).
const NANOSECONDS: u8 = 9;

/// What a capture says of its origin; what is `None` is left out of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// The machine (option `shb_hardware`).
    pub hardware: Option<String>,
    /// The operating system (option `shb_os`).
    pub operating_system: Option<String>,
    /// The program that made the capture (option `shb_userappl`).
    pub application: Option<String>,
    /// Anything that a reader should know, such as scenario and seed (option `opt_comment`).
    pub comment: Option<String>,
}

/// A point where packets are seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Name of the point (option `if_name`).
    pub name: String,
    /// What the point is, in words (option `if_description`).
    pub description: Option<String>,
    /// Anything else that a reader should know (option `opt_comment`).
    pub comment: Option<String>,
    /// Bytes of each packet that are kept, from its start; `None`: all.
    pub snap_length: Option<NonZeroU32>,
}

impl Interface {
    /// A point of this name that keeps whole packets.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: None, comment: None, snap_length: None }
    }

    /// The same point, keeping at most the first `snap_length` bytes of each packet.
    #[must_use]
    pub fn with_snap_length(self, snap_length: NonZeroU32) -> Self {
        Self { snap_length: Some(snap_length), ..self }
    }

    /// The block that describes the point in the file.
    pub(crate) fn to_block(&self) -> Result<InterfaceDescriptionBlock<'static>, CaptureError> {
        use InterfaceDescriptionOption as Field;
        let of = |field| format!("{field} of interface `{}`", self.name);
        let mut options = vec![Field::IfName(checked("the name of an interface", &self.name)?)];
        if let Some(text) = &self.description {
            options.push(Field::IfDescription(checked(&of("the description"), text)?));
        }
        if let Some(text) = &self.comment {
            options.push(Field::Comment(checked(&of("the comment"), text)?));
        }
        options.push(Field::IfTsResol(NANOSECONDS));
        // In the file, zero says that there is no limit.
        let snaplen = self.snap_length.map_or(0, NonZeroU32::get);
        Ok(InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen, options })
    }
}

impl Section {
    /// The block that begins the file. Its byte order is fixed, so that files are the same on
    /// every machine.
    pub(crate) fn to_block(&self) -> Result<SectionHeaderBlock<'static>, CaptureError> {
        use SectionHeaderOption as Field;
        let mut options = Vec::new();
        if let Some(text) = &self.comment {
            options.push(Field::Comment(checked("the comment of the section", text)?));
        }
        if let Some(text) = &self.hardware {
            options.push(Field::Hardware(checked("the hardware of the section", text)?));
        }
        if let Some(text) = &self.operating_system {
            options.push(Field::OS(checked("the operating system of the section", text)?));
        }
        if let Some(text) = &self.application {
            options.push(Field::UserApplication(checked("the application of the section", text)?));
        }
        Ok(SectionHeaderBlock {
            endianness: Endianness::Little,
            options,
            ..SectionHeaderBlock::default()
        })
    }
}

/// A text whose length an option can say; the encoder below would cut the length silently.
fn checked(what: &str, text: &str) -> Result<Cow<'static, str>, CaptureError> {
    if u16::try_from(text.len()).is_err() {
        return Err(CaptureError::TextLength { what: what.to_owned(), bytes: text.len() });
    }
    Ok(Cow::Owned(text.to_owned()))
}

/// Number of an interface: its place in the list that the capture began with, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub u32);

impl std::fmt::Display for InterfaceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
