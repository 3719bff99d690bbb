//! The standard input, read by a thread of its own: whoever asks is never kept waiting.
//!
//! A capture that somebody pipes in comes when it comes. Meanwhile interruptions are heeded and what is
//! there is shown, so a read must not block.

use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

/// Bytes that are read at once, and how many such blocks may wait to be taken.
const BLOCK_BYTES: usize = 1 << 18;
const BLOCKS: usize = 16;
/// How long the first bytes are waited for before anything else is looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// The standard input; a read gives [`ErrorKind::WouldBlock`] where nothing is there yet.
pub(crate) struct StandardInput {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    taken: usize,
}

impl StandardInput {
    /// Begins to read, and waits for the first bytes, by which formats are told; `goes_on` is asked again
    /// and again whether to wait any longer.
    ///
    /// # Errors
    /// Where no thread can be had, and what `goes_on` says.
    pub(crate) fn begin<E: From<io::Error>>(
        mut goes_on: impl FnMut() -> Result<(), E>,
    ) -> Result<Self, E> {
        let (hand_over, blocks) = sync_channel(BLOCKS);
        // It ends with the input, with whoever reads here, or with the process.
        thread::Builder::new().name("standard-input".into()).spawn(move || read_all(&hand_over))?;
        loop {
            goes_on()?;
            match blocks.recv_timeout(PATIENCE) {
                Ok(block) => return Ok(Self { blocks, block: block?, taken: 0 }),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Self { blocks, block: Vec::new(), taken: 0 });
                }
            }
        }
    }
}

fn read_all(hand_over: &SyncSender<io::Result<Vec<u8>>>) {
    let mut input = io::stdin().lock();
    loop {
        let mut block = vec![0; BLOCK_BYTES];
        let handed = match input.read(&mut block) {
            Ok(0) => return,
            Ok(bytes) => {
                block.truncate(bytes);
                hand_over.send(Ok(block))
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => {
                // Nobody who listens is no reason to complain.
                let _told = hand_over.send(Err(error));
                return;
            }
        };
        if handed.is_err() {
            return;
        }
    }
}

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.block.len() {
            self.block = match self.blocks.try_recv() {
                Ok(block) => block?,
                Err(TryRecvError::Empty) => return Err(ErrorKind::WouldBlock.into()),
                Err(TryRecvError::Disconnected) => return Ok(0),
            };
            self.taken = 0;
        }
        let bytes = (&self.block[self.taken..]).read(buffer)?;
        self.taken += bytes;
        Ok(bytes)
    }
}
