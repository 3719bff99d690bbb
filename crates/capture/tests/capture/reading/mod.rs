//! Frames out of capture files of every format, whole and damaged.

mod broken;
mod files;
mod foreign;
mod formats;
mod inputs;
mod properties;
