//! Why a capture cannot be read at all.

use thiserror::Error;

/// Why nothing can be read; what is wrong only in places is a note.
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
        /// What it is instead, as a verb and its object.
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
