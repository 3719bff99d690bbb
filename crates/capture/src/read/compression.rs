//! Compressed captures, told by their first bytes.
//!
//! gzip is read by flate2 upon zlib-rs, which needs no C compiler and is faster than zlib; zstd by the
//! reference implementation, since those in Rust take two to three times as long. Both go on behind the end
//! of a member or frame with the next one, as files that were appended to each other have them.

use super::window::{AtEnd, Source, Window};
use flate2::read::MultiGzDecoder;
use std::io::Read;

/// A way of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    Gzip,
    Zstandard,
}

fn of_beginning(bytes: &[u8]) -> Option<Compression> {
    match *bytes {
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        // A frame, or one to skip, which some programs put first.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Some(Compression::Zstandard)
        }
        _ => None,
    }
}

/// A window on the decompressed bytes where those of `window` are compressed, or `window` itself. What was
/// compressed twice stays so: a few bytes could become more than anybody can read.
///
/// # Errors
/// Where a decompression cannot begin.
pub(crate) fn unpacked(mut window: Window) -> std::io::Result<Window> {
    window.fill(4);
    match of_beginning(window.rest()) {
        Some(compression) => {
            Ok(Window::new(decoder(compression, window.into_source())?, AtEnd::Ends))
        }
        None => Ok(window),
    }
}

fn decoder(compression: Compression, source: Source) -> std::io::Result<Source> {
    Ok(match compression {
        Compression::Gzip => Box::new(Sparing(MultiGzDecoder::new(source))),
        Compression::Zstandard => Box::new(Sparing(zstd::stream::read::Decoder::new(source)?)),
    })
}

/// Asks a decoder for little at once: where it meets damage, what it has made in that call is lost.
struct Sparing<R>(R);

/// Bytes that are asked for at once.
const SPARING_BYTES: usize = 4096;

impl<R: Read> Read for Sparing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(SPARING_BYTES);
        self.0.read(&mut buffer[..length])
    }
}
