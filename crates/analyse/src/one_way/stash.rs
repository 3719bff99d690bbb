//! Names of closed connections whose delays cannot be told before the clocks are known: in a file.

use super::samples::Stowed;
use std::io::{self, Read, Seek, SeekFrom, Write};
use tempfile::SpooledTempFile;

/// Bytes that stay in memory before the file is made.
const IN_MEMORY: usize = 4 << 20;

/// A passage that is over, with its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) group: u32,
    /// 0 where it departed at the sender's tap, else 1.
    pub(super) tap: u8,
    pub(super) flow: u64,
    pub(super) name: String,
    pub(super) samples: Stowed,
}

/// Closed passages, written one behind the other.
#[derive(Debug)]
pub(super) struct Stash {
    file: SpooledTempFile,
    written: u64,
    read: u64,
}

impl Stash {
    pub(super) fn new() -> Self {
        Self { file: SpooledTempFile::new(IN_MEMORY), written: 0, read: 0 }
    }

    pub(super) fn put(&mut self, closed: &Closed) -> io::Result<()> {
        let mut record = Vec::with_capacity(64);
        let name = closed.name.as_bytes();
        let length = u32::try_from(name.len()).map_err(io::Error::other)?;
        record.extend(length.to_le_bytes());
        record.extend(closed.group.to_le_bytes());
        record.push(closed.tap);
        record.extend(closed.flow.to_le_bytes());
        record.extend(closed.samples.to_bits().to_le_bytes());
        record.extend(name);
        self.file.write_all(&record)?;
        self.written += 1;
        Ok(())
    }

    /// The next one in the order in which they were put; nothing is put from then on.
    pub(super) fn next(&mut self) -> io::Result<Option<Closed>> {
        if self.read == self.written {
            return Ok(None);
        }
        if self.read == 0 {
            self.file.seek(SeekFrom::Start(0))?;
        }
        self.read += 1;
        let length = u32::from_le_bytes(self.take()?);
        let group = u32::from_le_bytes(self.take()?);
        let [tap] = self.take()?;
        let flow = u64::from_le_bytes(self.take()?);
        let samples = Stowed::from_bits(u64::from_le_bytes(self.take()?));
        let mut name = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.file.read_exact(&mut name)?;
        let name = String::from_utf8(name).map_err(io::Error::other)?;
        Ok(Some(Closed { group, tap, flow, name, samples }))
    }

    fn take<const LENGTH: usize>(&mut self) -> io::Result<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_comes_again_in_the_same_order() {
        let mut stash = Stash::new();
        let closed = |flow: u64, samples| Closed {
            group: 3,
            tap: 1,
            flow,
            name: format!("10.0.0.1:{flow}>10.0.0.2:80"),
            samples: Stowed::from_bits(samples),
        };
        let all = [closed(1, 4096), closed(2, u64::MAX), closed(1 << 40, 0)];
        for one in &all {
            stash.put(one).unwrap();
        }
        for one in all {
            assert_eq!(stash.next().unwrap(), Some(one));
        }
        assert_eq!(stash.next().unwrap(), None);
    }
}
