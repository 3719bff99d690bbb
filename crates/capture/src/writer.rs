//! The stream of packets into a capture file.

use crate::{CaptureError, Interface, InterfaceId, Section};
use fairwind_units::Instant;
use fairwind_wire::Segment;
use fairwind_wire::bytes::{IpHeader, Payload, emit_prefix};
use pcap_file::PcapError;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::num::NonZeroU32;
use std::time::Duration;

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
