//! Files that a script's commands name, as far as whoever runs it wants them read.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

type Read = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Finds the text of a file by its path, as a script names it: relative to the script's folder, or
/// absolute. This room touches no files itself.
#[derive(Clone)]
pub struct Files(Arc<Read>);

impl Files {
    /// No file can be read.
    pub fn none() -> Self {
        Self::reading(|_| None)
    }

    /// Files are read by a function, which returns `None` where there is none.
    pub fn reading(read: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        (self.0)(path)
    }
}

impl Debug for Files {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Files")
    }
}

/// Two are equal if they read by the same function.
impl PartialEq for Files {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Files {}
