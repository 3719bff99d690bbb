//! Capture files made byte by byte.

use fairwind_capture::{CaptureReader, EndOfFile, Input, LinkType, Next, ReadError};

/// The byte order of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) const BOTH: [Self; 2] = [Self::Little, Self::Big];

    pub(crate) fn u16(self, number: u16) -> [u8; 2] {
        if self == Self::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }

    pub(crate) fn u32(self, number: u32) -> [u8; 4] {
        if self == Self::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }

    pub(crate) fn u64(self, number: u64) -> [u8; 8] {
        if self == Self::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }
}

/// A pcap file that grows record by record.
#[derive(Debug, Clone)]
pub(crate) struct Pcap {
    pub(crate) bytes: Vec<u8>,
    pub(crate) order: Order,
}

impl Pcap {
    pub(crate) const MICROSECONDS: u32 = 0xa1b2_c3d4;
    pub(crate) const NANOSECONDS: u32 = 0xa1b2_3c4d;
    pub(crate) const KUZNETZOV: u32 = 0xa1b2_cd34;

    /// The header of a file of Ethernet frames.
    pub(crate) fn new(order: Order, magic: u32, snap_length: u32) -> Self {
        Self::with_link(order, magic, snap_length, 1)
    }

    pub(crate) fn with_link(order: Order, magic: u32, snap_length: u32, link: u32) -> Self {
        let mut bytes = order.u32(magic).to_vec();
        bytes.extend([order.u16(2), order.u16(4)].concat());
        bytes.extend([0; 8]);
        bytes.extend([order.u32(snap_length), order.u32(link)].concat());
        Self { bytes, order }
    }

    /// A record with these numbers in its header.
    pub(crate) fn record(&mut self, header: [u32; 4], bytes: &[u8]) -> &mut Self {
        for number in header {
            self.bytes.extend(self.order.u32(number));
        }
        self.bytes.extend(bytes);
        self
    }

    /// A whole packet of these bytes.
    pub(crate) fn packet(&mut self, seconds: u32, parts: u32, bytes: &[u8]) -> &mut Self {
        let length = u32::try_from(bytes.len()).unwrap();
        self.record([seconds, parts, length, length], bytes)
    }
}

/// Options of a block: code and value.
pub(crate) type Options<'a> = &'a [(u16, &'a [u8])];

/// A pcapng file that grows block by block.
#[derive(Debug, Clone)]
pub(crate) struct PcapNg {
    pub(crate) bytes: Vec<u8>,
    pub(crate) order: Order,
}

impl PcapNg {
    /// A file of one section without options and of no interface yet.
    pub(crate) fn new(order: Order) -> Self {
        let mut file = Self { bytes: Vec::new(), order };
        file.section(order, &[]);
        file
    }

    /// Another section, of unknown length.
    pub(crate) fn section(&mut self, order: Order, options: Options<'_>) -> &mut Self {
        self.order = order;
        let mut body = order.u32(0x1a2b_3c4d).to_vec();
        body.extend([order.u16(1), order.u16(0)].concat());
        body.extend(order.u64(u64::MAX));
        body.extend(self.options(options));
        self.block(0x0a0d_0d0a, &body)
    }

    /// Any block; its body is padded.
    pub(crate) fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let padded = body.len().next_multiple_of(4);
        let total = self.order.u32(u32::try_from(padded + 12).unwrap());
        self.bytes.extend([self.order.u32(kind), total].concat());
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len() + padded - body.len(), 0);
        self.bytes.extend(total);
        self
    }

    pub(crate) fn options(&self, options: Options<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (code, value) in options {
            let length = u16::try_from(value.len()).unwrap();
            bytes.extend([self.order.u16(*code), self.order.u16(length)].concat());
            bytes.extend(*value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        if !bytes.is_empty() {
            bytes.extend([0; 4]);
        }
        bytes
    }

    pub(crate) fn interface(
        &mut self,
        link: u16,
        snap_length: u32,
        options: Options<'_>,
    ) -> &mut Self {
        let mut body = [self.order.u16(link), self.order.u16(0)].concat();
        body.extend(self.order.u32(snap_length));
        body.extend(self.options(options));
        self.block(1, &body)
    }

    /// An enhanced packet with a timestamp in the unit of the interface's options.
    pub(crate) fn packet(
        &mut self,
        interface: u32,
        timestamp: u64,
        bytes: &[u8],
        original: u32,
        options: Options<'_>,
    ) -> &mut Self {
        let high = u32::try_from(timestamp >> 32).unwrap();
        let low = u32::try_from(timestamp & 0xffff_ffff).unwrap();
        let captured = u32::try_from(bytes.len()).unwrap();
        let mut body = Vec::new();
        for number in [interface, high, low, captured, original] {
            body.extend(self.order.u32(number));
        }
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(self.options(options));
        self.block(6, &body)
    }
}

/// A frame that owns its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) nanos: u64,
    pub(crate) link: LinkType,
    pub(crate) interface: u32,
    pub(crate) original: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) number: u64,
    pub(crate) offset: u64,
}

pub(crate) fn source(bytes: &[u8]) -> Input {
    Input::Source { name: "test".to_owned(), bytes: Box::new(std::io::Cursor::new(bytes.to_vec())) }
}

/// All frames up to the end or a wait.
pub(crate) fn frames(reader: &mut CaptureReader) -> Vec<Read> {
    let mut frames = Vec::new();
    while let Next::Frame(frame) = reader.next() {
        frames.push(Read {
            nanos: frame.at.as_nanos(),
            link: frame.link,
            interface: frame.interface,
            original: frame.original_bytes,
            bytes: frame.bytes.to_vec(),
            number: frame.number,
            offset: frame.offset,
        });
    }
    frames
}

/// Frames and notes of a file, or why it is refused.
pub(crate) fn try_read(bytes: &[u8]) -> Result<(Vec<Read>, Vec<String>), ReadError> {
    let mut reader = CaptureReader::open(vec![source(bytes)], EndOfFile::Final)?;
    let frames = frames(&mut reader);
    Ok((frames, reader.notes().iter().map(ToString::to_string).collect()))
}

/// Frames and notes of a file that can be read.
pub(crate) fn read(bytes: &[u8]) -> (Vec<Read>, Vec<String>) {
    try_read(bytes).unwrap()
}
