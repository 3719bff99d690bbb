//! Errors of opening captures, and guesses of what a file is instead.

use thiserror::Error;

/// Errors that prevent reading; local damage is a note.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// No input was given.
    #[error("read a capture: no file is named; name one or more files or folders")]
    NoInput,
    /// The file or folder cannot be opened.
    #[error("open the capture {file}: {source}")]
    Open {
        /// Which file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The very beginning of a file cannot be read.
    #[error("read the beginning of the capture {file}: {source}")]
    Read {
        /// Which file.
        file: String,
        /// What the system, or the decompression, said.
        source: std::io::Error,
    },
    /// There are no bytes.
    #[error("read the capture {file}: it is empty; a capture has at least a header of 24 bytes")]
    Empty {
        /// Which file.
        file: String,
    },
    /// The bytes are not those of a capture.
    #[error("read the capture {file}: it {seems}; {advice}")]
    NotACapture {
        /// Which file.
        file: String,
        /// Its real format, as a verb and its object.
        seems: String,
        /// What to do about it.
        advice: String,
    },
    /// A folder has no capture in it.
    #[error(
        "read the captures in {folder}: none of its {files} files is a capture; \
         name the folder that pcap or pcapng files are in"
    )]
    NothingInFolder {
        /// Which folder.
        folder: String,
        /// Files that were looked at.
        files: usize,
    },
}

/// What a file seems to be, as a verb and its object, and what to do about it.
pub(crate) struct Guess {
    pub(crate) seems: &'static str,
    pub(crate) advice: &'static str,
}

const CONVERT: &str = "convert it first with `editcap -F pcapng FILE NEW.pcapng` of Wireshark";
const UNPACK: &str = "unpack it first, or pipe the unpacked bytes in and name `-` as the file";
const NAME_ANOTHER: &str = "name a pcap or pcapng file";

/// Beginnings of files that people have beside their captures.
const BEGINNINGS: [(&[u8], &str, &str); 20] = [
    (b"snoop\0\0\0", "is a capture of Solaris snoop, which is not supported", CONVERT),
    (b"TRSNIFF data", "is a capture of Sniffer, which is not supported", CONVERT),
    (b"RTSS", "is a capture of Microsoft Network Monitor 1, which is not supported", CONVERT),
    (b"GMBU", "is a capture of Microsoft Network Monitor 2, which is not supported", CONVERT),
    (b"\x7fver", "is a capture of EtherPeek or AiroPeek, which is not supported", CONVERT),
    (b"iptrace ", "is a capture of AIX iptrace, which is not supported", CONVERT),
    (b"XCP\0", "is a capture of NetXRay, which is not supported", CONVERT),
    (b"\xfd7zXZ\0", "is compressed with xz", UNPACK),
    (b"BZh", "is compressed with bzip2", UNPACK),
    (b"\x04\x22\x4d\x18", "is compressed with lz4", UNPACK),
    (b"\x1f\x9d", "is compressed with compress", UNPACK),
    (b"PK\x03\x04", "is a zip archive", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive", UNPACK),
    (b"\x1f\x8b", "is compressed with gzip a second time", UNPACK),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd a second time", UNPACK),
    (b"\x7fELF", "is a program", NAME_ANOTHER),
    (b"PAR1", "is a Parquet table", "use `fairwind report` or a data frame for tables"),
    (b"%PDF", "is a PDF document", NAME_ANOTHER),
    (b"\x89PNG", "is a picture", NAME_ANOTHER),
    (b"SQLite format 3\0", "is a database", NAME_ANOTHER),
];

/// Bytes of a file that are looked at.
pub(crate) const SAMPLE_BYTES: usize = 4096;

/// What a file with this beginning seems to be.
pub(crate) fn guess(beginning: &[u8]) -> Guess {
    let sample = &beginning[..beginning.len().min(SAMPLE_BYTES)];
    let known = BEGINNINGS.iter().find(|(bytes, ..)| sample.starts_with(bytes));
    if let Some(&(_, seems, advice)) = known {
        return Guess { seems, advice };
    }
    if sample.get(257..262) == Some(b"ustar") {
        return Guess { seems: "is a tar archive", advice: UNPACK };
    }
    if is_text(sample) {
        return guess_text(sample);
    }
    if is_erf(sample) {
        return Guess {
            seems: "seems to be an ERF trace, which is not supported",
            advice: CONVERT,
        };
    }
    if sample.len() < 24 && (sample.starts_with(&[0xd4, 0xc3]) || sample.starts_with(&[0xa1, 0xb2]))
    {
        return Guess {
            seems: "ends within the header of a pcap file",
            advice: "capture again; its writer stopped before it wrote a packet",
        };
    }
    Guess { seems: "begins like no known capture format", advice: NAME_ANOTHER }
}

fn guess_text(sample: &[u8]) -> Guess {
    let begins = |word: &[u8]| sample.trim_ascii_start().starts_with(word);
    if begins(b"<") {
        return Guess { seems: "is text with markup (XML or HTML)", advice: NAME_ANOTHER };
    }
    if begins(b"{") || begins(b"[") {
        return Guess { seems: "is text (JSON)", advice: NAME_ANOTHER };
    }
    Guess {
        seems: "is text, not a capture",
        advice: "make tcpdump write packets with `-w FILE` instead of printing them",
    }
}

/// Whether all bytes can be printed, up to a character that the sample's end cuts.
fn is_text(sample: &[u8]) -> bool {
    let end = match std::str::from_utf8(sample) {
        Ok(_) => sample.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return false,
    };
    let is_printable = |&byte: &u8| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    end > 0 && sample[..end].iter().all(is_printable)
}

/// Whether two or more records of the extensible record format (Endace) stand in a row: 8 bytes of time,
/// type, flags, and the record's length in network order.
fn is_erf(sample: &[u8]) -> bool {
    let mut at = 0;
    for records in 0..3 {
        let Some(record) = sample.get(at..at + 16) else { return records >= 2 };
        let length = usize::from(u16::from_be_bytes([record[10], record[11]]));
        let is_known_type = (1..=27).contains(&(record[8] & 0x7f));
        if !is_known_type || length < 16 {
            return false;
        }
        at += length;
    }
    true
}
