//! Capture writer: a pcapng file as a stream, its section and interfaces.

use fairwind_units::Instant;
use fairwind_wire::Segment;
use fairwind_wire::bytes::{EmitError, IpHeader, Payload, emit_prefix};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::num::NonZeroU32;
use std::time::Duration;
use thiserror::Error;

/// Timestamps count units of 10^-9 seconds (option `if_tsresol`).
const NANOSECONDS: u8 = 9;

/// Origin of a capture; `None` fields are left out of the file.
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

/// A text that fits into an option; the encoder below would cut the length silently.
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

/// Why something could not be written; each case says what.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The writer below failed. Output is buffered, so packets shortly before may be lost, too.
    #[error("write {what} to the capture: {source}")]
    Write {
        /// The item that was written when the failure occurred.
        what: String,
        /// What the writer below said.
        source: std::io::Error,
    },
    /// A packet names an interface that the capture does not have.
    #[error(
        "write {what} to the capture: there is no such interface; \
         the capture has {interfaces}, numbered from 0"
    )]
    UnknownInterface {
        /// The item that was written.
        what: String,
        /// The number that was named.
        interface: InterfaceId,
        /// How many there are.
        interfaces: usize,
    },
    /// A text is longer than the length field of a pcapng option can say.
    #[error("write {what} to the capture: {bytes} bytes of text are too long; shorten it to 65535")]
    TextLength {
        /// Which text.
        what: String,
        /// Its length.
        bytes: usize,
    },
    /// More bytes were given than the packet is said to have had.
    #[error(
        "write {what} to the capture: {given_bytes} bytes were given of a packet \
         that is said to have had {original_length}"
    )]
    PacketLength {
        /// Which packet.
        what: String,
        /// Bytes given.
        given_bytes: usize,
        /// Bytes that the packet is said to have had.
        original_length: u32,
    },
    /// A segment cannot be a packet.
    #[error("write {what} to the capture: {source}")]
    Segment {
        /// Which packet.
        what: String,
        /// Why it cannot.
        source: EmitError,
    },
}

/// Bytes gathered before the writer below is called.
const BUFFER_BYTES: usize = 1 << 16;

/// Writes packets into a capture file as they come.
///
/// Output is buffered here, so the writer below needs no buffer; [`CaptureWriter::finish`] hands
/// it back with everything written. After an error the file ends somewhere before it.
pub struct CaptureWriter<W: Write> {
    blocks: PcapNgWriter<BufWriter<W>>,
    interfaces: Vec<Interface>,
    packets: u64,
    /// The packet being made from a segment.
    packet: Vec<u8>,
}

impl<W: Write> CaptureWriter<W> {
    /// Begins a capture of these interfaces; their places in the list are their
    /// [`InterfaceId`]s.
    ///
    /// # Errors
    /// Where a text is longer than 65535 bytes or `writer` fails.
    pub fn new(
        writer: W,
        section: &Section,
        interfaces: Vec<Interface>,
    ) -> Result<Self, CaptureError> {
        let section = section.to_block()?;
        let writer = BufWriter::with_capacity(BUFFER_BYTES, writer);
        let mut blocks = PcapNgWriter::with_section_header(writer, section)
            .map_err(|error| failed("the section header", error))?;
        for interface in &interfaces {
            let block = interface.to_block()?;
            blocks.write_pcapng_block(block).map_err(|error| {
                failed(format!("the description of interface `{}`", interface.name), error)
            })?;
        }
        Ok(Self { blocks, interfaces, packets: 0, packet: Vec::new() })
    }

    /// Packets written so far, in all interfaces.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Writes a packet, from its IP header on, that was seen at an interface and had
    /// `original_length` bytes then. `bytes` may be fewer; what is beyond the interface's snap
    /// length is left out.
    ///
    /// # Errors
    /// Where the interface does not exist, more bytes are given than the packet had, or the
    /// writer below fails.
    pub fn write_packet(
        &mut self,
        at: Instant,
        interface: InterfaceId,
        bytes: &[u8],
        original_length: u32,
    ) -> Result<(), CaptureError> {
        let snap_length = self.snap_length(at, interface)?;
        if u32::try_from(bytes.len()).map_or(true, |given| given > original_length) {
            let what = self.describe_packet(at, interface);
            let given_bytes = bytes.len();
            return Err(CaptureError::PacketLength { what, given_bytes, original_length });
        }
        let kept = usize::try_from(snap_length).unwrap_or(usize::MAX).min(bytes.len());
        self.append(at, interface, &bytes[..kept], original_length)
    }

    /// Writes the packet that carries `segment`, with checksums. Payload beyond the interface's
    /// snap length is not generated.
    ///
    /// # Errors
    /// Where the interface does not exist, the segment fits no packet, or the writer below fails.
    pub fn write_segment(
        &mut self,
        at: Instant,
        interface: InterfaceId,
        ip: &IpHeader,
        segment: &Segment,
        payload: Payload<'_>,
    ) -> Result<(), CaptureError> {
        let snap_length = self.snap_length(at, interface)?;
        let mut packet = std::mem::take(&mut self.packet);
        packet.clear();
        let written = emit_prefix(ip, segment, payload, snap_length, &mut packet)
            .map_err(|source| CaptureError::Segment {
                what: self.describe_packet(at, interface),
                source,
            })
            .and_then(|length| self.append(at, interface, &packet, length));
        self.packet = packet;
        written
    }

    /// Ends the capture, and hands the writer back.
    ///
    /// # Errors
    /// Where the last packets cannot be written.
    pub fn finish(self) -> Result<W, CaptureError> {
        let flushed = |source| {
            let what = format!("the last of {} packets", self.packets);
            CaptureError::Write { what, source }
        };
        let mut writer = self.blocks.into_inner();
        writer.flush().map_err(flushed)?;
        writer.into_inner().map_err(|error| flushed(error.into_error()))
    }

    fn append(
        &mut self,
        at: Instant,
        interface: InterfaceId,
        bytes: &[u8],
        original_length: u32,
    ) -> Result<(), CaptureError> {
        let block = EnhancedPacketBlock {
            interface_id: interface.0,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: original_length,
            data: Cow::Borrowed(bytes),
            options: Vec::new(),
        };
        match self.blocks.write_pcapng_block(block) {
            Ok(_bytes) => {
                self.packets += 1;
                Ok(())
            }
            Err(error) => Err(failed(self.describe_packet(at, interface), error)),
        }
    }

    /// Bytes of each packet that an interface keeps.
    fn snap_length(&self, at: Instant, interface: InterfaceId) -> Result<u32, CaptureError> {
        self.interface(interface)
            .map(|interface| interface.snap_length.map_or(u32::MAX, NonZeroU32::get))
            .ok_or_else(|| CaptureError::UnknownInterface {
                what: self.describe_packet(at, interface),
                interface,
                interfaces: self.interfaces.len(),
            })
    }

    fn interface(&self, interface: InterfaceId) -> Option<&Interface> {
        self.interfaces.get(usize::try_from(interface.0).ok()?)
    }

    /// The packet in work, for errors; counted from 1, as readers of captures do.
    fn describe_packet(&self, at: Instant, interface: InterfaceId) -> String {
        let number = self.packets + 1;
        match self.interface(interface) {
            Some(known) => format!("packet {number} at {at} on interface `{}`", known.name),
            None => format!("packet {number} at {at} on interface {interface}"),
        }
    }
}

fn failed(what: impl Into<String>, error: PcapError) -> CaptureError {
    let source = match error {
        PcapError::IoError(source) => source,
        other => std::io::Error::other(other),
    };
    CaptureError::Write { what: what.into(), source }
}
