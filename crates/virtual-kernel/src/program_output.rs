//! What programs in an instance print, while they run.
//!
//! The kernel's serial lines end in files, so that a program never waits for whoever reads: while it waited, virtual
//! time would pass.

use crate::program::OUTPUT_LINES;
use fairwind_linux::{self as linux, KernelError};
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

/// The files in which the serial lines end, in the folder of an instance.
const FILES: [&str; 2] = ["stdout", "stderr"];

/// What was printed, and how much of it has been passed on.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    written: [File; 2],
    read: [File; 2],
}

impl ProgramOutput {
    /// Creates the files.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let [out, err] = FILES.map(|name| folder.join(name));
        let written = [File::create(&out)?, File::create(&err)?];
        Ok(Self { written, read: [File::open(out)?, File::open(err)?] })
    }

    /// The arguments of a kernel whose serial lines end in the files, and the descriptors that it has to inherit.
    pub(crate) fn arguments(&self) -> Result<Vec<(String, OwnedFd)>, KernelError> {
        let lines = OUTPUT_LINES.iter().zip(&self.written);
        let each = lines.map(|(line, file)| {
            let handed = linux::inheritable(file)?;
            Ok((format!("{line}=null,fd:{}", handed.as_raw_fd()), handed))
        });
        each.collect()
    }

    /// Passes on what is new to this process' own standard output and standard error.
    pub(crate) fn forward(&mut self) {
        let [out, err] = &mut self.read;
        copy(out, &mut io::stdout().lock());
        copy(err, &mut io::stderr().lock());
    }
}

/// Copies the rest of `file`. If nobody reads any more, the program continues.
fn copy(file: &mut File, target: &mut impl Write) {
    let mut chunk = [0; 1 << 13];
    while let Ok(bytes @ 1..) = file.read(&mut chunk) {
        let _ = target.write_all(&chunk[..bytes]).and_then(|()| target.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_copied_once_while_a_file_grows() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = ProgramOutput::create(folder.path()).unwrap();
        let (mut copied, mut expected) = (Vec::new(), Vec::new());
        let long = vec![7; 200_000];
        for part in [&b"no newline"[..], &[0, 255, 13, 10], &long, b""] {
            output.written[0].write_all(part).unwrap();
            expected.extend_from_slice(part);
            copy(&mut output.read[0], &mut copied);
            assert_eq!(copied, expected);
        }
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
