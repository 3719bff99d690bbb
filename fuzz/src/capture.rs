//! Capture files: whatever bytes they have, reading ends, goes forward, and does not depend on the pieces in
//! which the bytes come.

use fairwind_capture::{CaptureReader, EndOfFile, Input, Next};
use std::io::{Cursor, Read};

/// Reads bytes as a capture file, at once and in pieces.
///
/// # Panics
/// Where frames do not follow each other in the file, and where the pieces make a difference.
pub fn capture(bytes: &[u8]) {
    let at_once = read(Box::new(Cursor::new(bytes.to_vec())));
    if let Some(capture) = &at_once {
        assert!(capture.frames.is_sorted_by(|one, next| one.offset < next.offset));
        assert!(capture.notes.len() < 30, "notes are one for each kind");
    }
    // What a decompression gives before it meets damage depends on how much it is asked for at once.
    if bytes.first().is_some_and(|first| matches!(first, 0x1f | 0x28 | 0x50..=0x5f)) {
        return;
    }
    let piece = usize::from(bytes.last().copied().unwrap_or_default()) + 1;
    let in_pieces = read(Box::new(Pieces { bytes: Cursor::new(bytes.to_vec()), piece }));
    assert_eq!(at_once, in_pieces, "in pieces of {piece} bytes");
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
struct Capture {
    frames: Vec<Frame>,
    notes: Vec<String>,
}

/// What a frame says of itself, and its bytes in short.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    nanos: u64,
    offset: u64,
    original: u32,
    bytes: usize,
    sum: u64,
}

/// Frames that are kept to be compared; more are read.
const MOST_FRAMES: usize = 10_000;

fn read(bytes: Box<dyn Read + Send>) -> Option<Capture> {
    let input = Input::Source { name: "bytes".to_owned(), bytes };
    let mut reader = CaptureReader::open(vec![input], EndOfFile::Final).ok()?;
    let mut frames = Vec::new();
    while let Next::Frame(frame) = reader.next() {
        assert!(u64::from(frame.original_bytes) >= u64::try_from(frame.bytes.len()).unwrap_or(0));
        if frames.len() < MOST_FRAMES {
            frames.push(Frame {
                nanos: frame.at.as_nanos(),
                offset: frame.offset,
                original: frame.original_bytes,
                bytes: frame.bytes.len(),
                sum: frame.bytes.iter().fold(0, |sum, byte| sum * 31 % 65_537 + u64::from(*byte)),
            });
        }
    }
    Some(Capture { frames, notes: reader.notes().iter().map(ToString::to_string).collect() })
}

/// Hands out a few bytes at a time.
struct Pieces {
    bytes: Cursor<Vec<u8>>,
    piece: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let room = buffer.len().min(self.piece);
        self.bytes.read(&mut buffer[..room])
    }
}
