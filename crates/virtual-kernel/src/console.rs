//! What an instance prints, and what that says about its end.
//!
//! The console ends in a file. A pipe would interrupt the kernel whenever somebody has read from it, at instants that
//! depend on the machine, and interrupts stir the kernel's random numbers.

use crate::task::{FAILURE_MARK, TaskFailure};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Bytes that are kept of what was printed last.
const KEPT: u64 = 1 << 16;
/// Lines that an error quotes.
const QUOTED: usize = 8;
/// What the kernel prints first when it gives up.
const PANIC: &str = "Kernel panic - not syncing: ";
/// The file, in the folder of an instance.
const FILE: &str = "console";

/// The end of what an instance has printed.
#[derive(Debug)]
pub(crate) struct Console {
    file: File,
    bytes: Vec<u8>,
}

impl Console {
    /// Creates the file.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        File::create(&path)?;
        Ok(Self { file: File::open(path)?, bytes: Vec::new() })
    }

    /// Where the kernel prints.
    pub(crate) fn input(folder: &Path) -> io::Result<File> {
        File::options().append(true).open(folder.join(FILE))
    }

    /// Reads the end of what was printed.
    pub(crate) fn read(&mut self) -> io::Result<()> {
        let start = self.file.metadata()?.len().saturating_sub(KEPT);
        self.file.seek(SeekFrom::Start(start))?;
        self.bytes.clear();
        self.file.read_to_end(&mut self.bytes).map(|_| ())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).replace('\r', "")
    }

    /// The failure that the worker printed because it could write no answer.
    pub(crate) fn failure(&self) -> Option<TaskFailure> {
        let text = self.text();
        let (_, rest) = text.rsplit_once(FAILURE_MARK)?;
        serde_json::from_str(rest.lines().next()?).ok()
    }

    /// Why the kernel gave up, where it did.
    pub(crate) fn panic(&self) -> Option<String> {
        let text = self.text();
        let (_, rest) = text.split_once(PANIC)?;
        Some(rest.lines().next()?.trim().to_owned())
    }

    /// The last lines, for an error.
    pub(crate) fn quote(&self) -> String {
        let text = self.text();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(QUOTED)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::FailureKind;
    use std::io::Write as _;

    fn printed(text: &str) -> Console {
        let folder = tempfile::tempdir().unwrap();
        let mut console = Console::create(folder.path()).unwrap();
        Console::input(folder.path()).unwrap().write_all(text.as_bytes()).unwrap();
        console.read().unwrap();
        console
    }

    #[test]
    fn panic_is_found_among_other_lines() {
        let console = printed("[ 1.0] ok\r\nKernel panic - not syncing: no memory\r\nCPU: 0\r\n");
        assert_eq!(console.panic().as_deref(), Some("no memory"));
        assert_eq!(printed("all is well\n").panic(), None);
    }

    #[test]
    fn failure_of_the_worker_is_read() {
        let failure = TaskFailure { kind: FailureKind::Storage(28), message: "full".to_owned() };
        let json = serde_json::to_string(&failure).expect("plain values");
        let console = printed(&format!("noise\n{FAILURE_MARK}{json}\nreboot: power down\n"));
        assert_eq!(console.failure(), Some(failure));
    }

    #[test]
    fn only_the_end_of_much_output_is_kept() {
        let lines = "an early line
"
        .repeat(10_000)
            + "the last line";
        let console = printed(&lines);
        assert_eq!(console.bytes.len() as u64, KEPT);
        assert!(console.quote().ends_with("the last line"));
    }
}
