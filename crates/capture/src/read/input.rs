//! What can be read, and files in the order of their packets.

use super::error::ReadError;
use super::file::CaptureFile;
use super::journal::{Journal, Step};
use super::kinds;
use super::window::{AtEnd, Metered, Source, Window};
use fairwind_units::Instant;
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Something that packets are read from.
pub enum Input {
    /// A file, or a folder with the files that one capture was rotated through.
    Path(PathBuf),
    /// Standard input.
    Standard,
    /// Any other source of bytes.
    Source {
        /// What messages call it.
        name: String,
        /// Its bytes.
        bytes: Box<dyn Read + Send>,
    },
}

impl Input {
    /// The input that a command line names: `-` is standard input.
    pub fn named(name: &str) -> Self {
        if name == "-" { Self::Standard } else { Self::Path(name.into()) }
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Standard => f.write_str("Standard"),
            Self::Source { name, .. } => f.debug_tuple("Source").field(name).finish(),
        }
    }
}

/// What happens at the end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndOfFile {
    /// It is the end.
    #[default]
    Final,
    /// More may be written to it, or to a new file in the same folder. Compressed files and pipes end
    /// nevertheless, and what is written anew under a name that was read already is not read.
    Followed,
}

/// A file that is still to be read.
enum Waiting {
    File(PathBuf),
    Stream(Arc<str>, Source),
}

/// The files of an input, those that are still to be read first.
pub(crate) struct Queue {
    waiting: VecDeque<Waiting>,
    /// Folders in which new files may appear, and the files of them that are known.
    folders: Vec<PathBuf>,
    known: BTreeSet<PathBuf>,
    ending: EndOfFile,
    /// Bytes that were read of files as they are stored, and how many they have if that is known.
    pub(crate) read: Arc<AtomicU64>,
    pub(crate) total: Option<u64>,
}

impl Queue {
    /// Files in the order of their first packets, then of their names; streams behind them.
    pub(crate) fn new(
        inputs: Vec<Input>,
        ending: EndOfFile,
        journal: &mut Journal,
    ) -> Result<Self, ReadError> {
        if inputs.is_empty() {
            return Err(ReadError::NoInput);
        }
        let mut queue = Self {
            waiting: VecDeque::new(),
            folders: Vec::new(),
            known: BTreeSet::new(),
            ending,
            read: Arc::default(),
            total: Some(0),
        };
        let (mut named, mut found, mut streams) = (Vec::new(), Vec::new(), Vec::new());
        for input in inputs {
            match input {
                Input::Path(path) if path.is_dir() => {
                    found.extend(queue.add_folder(path, journal)?);
                }
                // What can be read only once, such as a named pipe, is not looked at beforehand.
                Input::Path(path) if path.exists() && !path.is_file() => {
                    let file = File::open(&path).map_err(|source| ReadError::Open {
                        file: path.display().to_string(),
                        source,
                    })?;
                    streams.push(Waiting::Stream(name_of(&path), Box::new(file)));
                }
                Input::Path(path) => named.push(path),
                Input::Standard => {
                    streams
                        .push(Waiting::Stream("standard input".into(), Box::new(std::io::stdin())));
                }
                Input::Source { name, bytes } => {
                    streams.push(Waiting::Stream(name.into(), bytes));
                }
            }
        }
        if !streams.is_empty() {
            queue.total = None;
        }
        // A single file is judged when it is opened.
        if found.is_empty() && named.len() == 1 {
            found.extend(named.into_iter().map(|path| (None, path)));
        } else {
            for path in named {
                found.push((first_instant(&path, ending)?, path));
            }
        }
        queue.add_files(found);
        queue.waiting.extend(streams);
        Ok(queue)
    }

    /// Whether new files may come.
    pub(crate) fn is_watching(&self) -> bool {
        self.ending == EndOfFile::Followed && !self.folders.is_empty()
    }

    /// Whether there is another file; looks for new ones in the folders.
    pub(crate) fn has_next(&mut self, journal: &mut Journal) -> bool {
        if self.waiting.is_empty() && self.is_watching() {
            let mut new: Vec<PathBuf> =
                self.folders.iter().flat_map(|folder| files_in(folder)).collect();
            new.retain(|path| !self.known.contains(path));
            let new = self.captures_among(new, journal);
            self.add_files(new);
        }
        !self.waiting.is_empty()
    }

    /// Opens the next file, if there is one.
    pub(crate) fn open_next(
        &mut self,
        journal: &mut Journal,
    ) -> Option<Result<CaptureFile, ReadError>> {
        let next = self.waiting.pop_front()?;
        Some(match next {
            Waiting::File(path) => {
                journal.begin(name_of(&path));
                open(&path, self.ending, Some(self.read.clone()))
                    .and_then(|window| CaptureFile::new(window, journal))
            }
            Waiting::Stream(name, source) => {
                journal.begin(name);
                let source = Box::new(Metered::new(source, self.read.clone()));
                CaptureFile::new(Window::new(source, AtEnd::Ends), journal)
            }
        })
    }

    /// The captures in a folder, which is looked into again where captures are followed.
    fn add_folder(
        &mut self,
        folder: PathBuf,
        journal: &mut Journal,
    ) -> Result<Vec<Dated>, ReadError> {
        if let Err(source) = std::fs::read_dir(&folder) {
            return Err(ReadError::Open { file: folder.display().to_string(), source });
        }
        let all = files_in(&folder);
        let count = all.len();
        let captures = self.captures_among(all, journal);
        if captures.is_empty() && self.ending == EndOfFile::Final {
            let folder = folder.display().to_string();
            return Err(ReadError::NothingInFolder { folder, files: count });
        }
        self.folders.push(folder);
        Ok(captures)
    }

    /// Files that can be read; the others are noted. Where captures are followed, a file without bytes is
    /// not there yet: it must not end the one before.
    fn captures_among(&mut self, files: Vec<PathBuf>, journal: &mut Journal) -> Vec<Dated> {
        let mut captures = Vec::new();
        for path in files {
            if self.ending == EndOfFile::Followed && size_of(&path) == Some(0) {
                continue;
            }
            match first_instant(&path, self.ending) {
                Ok(first) => captures.push((first, path)),
                Err(error) => {
                    journal.note_of_another(name_of(&path), kinds::NOT_READ, error.to_string());
                    self.known.insert(path);
                }
            }
        }
        captures
    }

    /// Puts files behind those that wait, in the order of their first packets, then of their names. One
    /// without packets is the last: where captures are followed, packets are still to come into it.
    fn add_files(&mut self, mut files: Vec<Dated>) {
        files.sort_by_cached_key(|(first, path)| (first.is_none(), *first, path.clone()));
        for (_, path) in files {
            let both = self.total.zip(size_of(&path));
            self.total = both.map(|(total, bytes)| total.saturating_add(bytes));
            self.known.insert(path.clone());
            self.waiting.push_back(Waiting::File(path));
        }
    }
}

/// A file, and when its first packet was captured; `None` where it has none yet, or was not looked into.
type Dated = (Option<Instant>, PathBuf);

/// The files in a folder, not those in folders of it, in the order of their names.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Bytes of a regular file.
fn size_of(path: &Path) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    metadata.map(|metadata| metadata.len())
}

/// When the first packet of a file was captured; `None` where it has none yet.
fn first_instant(path: &Path, ending: EndOfFile) -> Result<Option<Instant>, ReadError> {
    let mut journal = Journal::new(name_of(path));
    let mut file = CaptureFile::new(open(path, ending, None)?, &mut journal)?;
    Ok(match file.step(&mut journal) {
        Step::Frame => Some(journal.found.at),
        Step::Wait | Step::End => None,
    })
}

fn open(path: &Path, ending: EndOfFile, read: Option<Arc<AtomicU64>>) -> Result<Window, ReadError> {
    let failed = |source| ReadError::Open { file: path.display().to_string(), source };
    let file = File::open(path).map_err(failed)?;
    let is_regular = file.metadata().map_err(failed)?.is_file();
    let at_end = match ending {
        EndOfFile::Followed if is_regular => AtEnd::Grows,
        EndOfFile::Final | EndOfFile::Followed => AtEnd::Ends,
    };
    let source: Source = match read {
        Some(read) => Box::new(Metered::new(Box::new(file), read)),
        None => Box::new(file),
    };
    Ok(Window::new(source, at_end))
}

fn name_of(path: &Path) -> Arc<str> {
    path.display().to_string().into()
}
