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
pub(crate) struct Printed {
    written: [File; 2],
    read: [File; 2],
}

impl Printed {
    /// Makes the files.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub(crate) fn make(folder: &Path) -> io::Result<Self> {
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
    pub(crate) fn pass_on(&mut self) {
        let [out, err] = &mut self.read;
        copy(out, &mut io::stdout().lock());
        copy(err, &mut io::stderr().lock());
    }
}

/// Copies the rest of `file`. Nobody may be left who reads: the program goes on all the same.
fn copy(file: &mut File, target: &mut impl Write) {
    let mut bytes = Vec::new();
    if file.read_to_end(&mut bytes).is_ok() && !bytes.is_empty() {
        let _ = target.write_all(&bytes).and_then(|()| target.flush());
    }
}
