//! What programs in an instance print, while they run.
//!
//! The kernel's serial lines end in files, so that a program never waits for whoever reads: while it waited, virtual
//! time would pass. What was passed on is removed from the files, which else grow with every line.

use crate::program::OUTPUT_LINES;
use fairwind_linux::{self as linux, KernelError};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// The files in which the serial lines end, in the folder of an instance.
const FILES: [&str; 2] = ["stdout", "stderr"];
/// Bytes that a pipe which is not full takes at once (`PIPE_BUF`).
const CHUNK_BYTES: usize = 4096;
/// Bytes of a file that are given back at once.
const FREED_BYTES: u64 = 1 << 20;

/// What was printed, and how much of it has been passed on.
#[derive(Debug)]
pub(crate) struct ProgramOutput([Printed; 2]);

/// One of both streams.
#[derive(Debug)]
struct Printed {
    written: File,
    read: File,
    /// Bytes that were passed on.
    passed: u64,
    /// How many of them the file holds no more.
    freed: u64,
    /// Whether the rest waits until somebody reads.
    is_stalled: bool,
}

impl ProgramOutput {
    /// Creates the files.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let [out, err] = FILES.map(|name| Printed::create(&folder.join(name)));
        Ok(Self([out?, err?]))
    }

    /// The arguments of a kernel whose serial lines end in the files, and the descriptors that it has to inherit.
    pub(crate) fn arguments(&self) -> Result<Vec<(String, OwnedFd)>, KernelError> {
        let lines = OUTPUT_LINES.iter().zip(&self.0);
        let each = lines.map(|(line, printed)| {
            let handed = linux::inheritable(&printed.written)?;
            Ok((format!("{line}=null,fd:{}", handed.as_raw_fd()), handed))
        });
        each.collect()
    }

    /// Passes on what is new to this process' own standard output and standard error, as far as they take it at once.
    pub(crate) fn forward(&mut self) {
        let [out, err] = &mut self.0;
        out.pass_on(&io::stdout());
        err.pass_on(&io::stderr());
    }

    /// Standard output and standard error, where there is more for them than they take.
    pub(crate) fn stalled(&self) -> Vec<Box<dyn AsFd>> {
        let targets: [Box<dyn AsFd>; 2] = [Box::new(io::stdout()), Box::new(io::stderr())];
        let stalled = targets.into_iter().zip(&self.0).filter(|(_, printed)| printed.is_stalled);
        stalled.map(|(target, _)| target).collect()
    }
}

impl Printed {
    fn create(path: &Path) -> io::Result<Self> {
        let written = File::create(path)?;
        Ok(Self { written, read: File::open(path)?, passed: 0, freed: 0, is_stalled: false })
    }

    /// Copies the rest of the file, until `target` would make us wait. If nobody reads any more, the program continues.
    fn pass_on(&mut self, target: &dyn AsFd) {
        let mut chunk = [0; CHUNK_BYTES];
        self.is_stalled = false;
        while let Ok(bytes @ 1..) = self.read.read_at(&mut chunk, self.passed) {
            if !linux::is_writable(target) {
                self.is_stalled = true;
                break;
            }
            let descriptor = target.as_fd().as_raw_fd();
            match linux::write_plain(descriptor, &chunk[..bytes]).result() {
                Ok(taken) => self.passed += u64::try_from(taken).unwrap_or(0),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_stalled = true;
                    break;
                }
                Err(_) => self.passed += u64::try_from(bytes).unwrap_or(0),
            }
        }
        if self.passed - self.freed >= FREED_BYTES {
            linux::free_beginning(&self.written, self.passed);
            self.freed = self.passed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{PipeReader, Read as _, Write as _, pipe};
    use std::os::unix::fs::MetadataExt as _;

    /// What is in a pipe now.
    fn drain(from: &mut PipeReader, bytes: usize) -> Vec<u8> {
        let mut read = vec![0; bytes];
        from.read_exact(&mut read).unwrap();
        read
    }

    #[test]
    fn each_byte_is_copied_once_while_a_file_grows() {
        let folder = tempfile::tempdir().unwrap();
        let mut printed = Printed::create(&folder.path().join("out")).unwrap();
        let (mut reader, writer) = pipe().unwrap();
        for part in [&b"no newline"[..], &[0, 255, 13, 10], &[7; 10_000], b""] {
            printed.written.write_all(part).unwrap();
            printed.pass_on(&writer);
            assert!(!printed.is_stalled);
            assert_eq!(drain(&mut reader, part.len()), part);
        }
    }

    #[test]
    fn reader_that_pauses_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let mut printed = Printed::create(&folder.path().join("out")).unwrap();
        let (mut reader, writer) = pipe().unwrap();
        let text: Vec<u8> = (0..300_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        printed.written.write_all(&text).unwrap();
        let mut read = Vec::new();
        while read.len() < text.len() {
            printed.pass_on(&writer);
            let there = usize::try_from(printed.passed).unwrap() - read.len();
            assert_eq!(printed.is_stalled, read.len() + there < text.len());
            read.extend(drain(&mut reader, there));
        }
        assert_eq!(read, text);
    }

    #[test]
    fn output_continues_when_nobody_reads_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let mut printed = Printed::create(&folder.path().join("out")).unwrap();
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        printed.written.write_all(&vec![7; 200_000]).unwrap();
        printed.pass_on(&writer);
        assert!(!printed.is_stalled);
        assert_eq!(printed.passed, 200_000);
    }

    #[test]
    fn passed_output_takes_no_space() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut printed = Printed::create(&path).unwrap();
        let target = File::create("/dev/null").unwrap();
        printed.written.write_all(&vec![7; 4 << 20]).unwrap();
        printed.written.sync_all().unwrap();
        let occupied = || std::fs::metadata(&path).unwrap().blocks() * 512;
        let before = occupied();
        printed.pass_on(&target);
        assert_eq!(printed.passed, 4 << 20);
        // Where the file system has no holes, nothing is given back.
        assert!(occupied() < 1 << 20 || occupied() == before, "{}", occupied());
        printed.written.write_all(b"more").unwrap();
        let mut kept = [0; 4];
        printed.read.read_exact_at(&mut kept, printed.passed).unwrap();
        assert_eq!(&kept, b"more");
    }

    #[test]
    fn lines_of_a_kernel_end_in_inherited_files() {
        let folder = tempfile::tempdir().unwrap();
        let output = ProgramOutput::create(folder.path()).unwrap();
        let arguments = output.arguments().unwrap();
        let names: Vec<&str> = arguments.iter().map(|(line, _)| &line[..5]).collect();
        assert_eq!(names, ["ssl0=", "ssl1="]);
        for (line, handed) in &arguments {
            assert!(line.ends_with(&format!("null,fd:{}", handed.as_raw_fd())));
        }
    }
}
