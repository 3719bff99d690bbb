//! Frames out of capture files of every format, whole and damaged.

mod files;
mod formats;
