//! The algorithms of this repository.
#![expect(unsafe_code, reason = "tables of C are looked at")]

use crate::native::{Calls, NativeFactory, Table};
use fairwind_tcp::PluggedAlgorithm;
use std::sync::Arc;

include!(concat!(env!("OUT_DIR"), "/controls.rs"));

/// Those that exist in Rust, too, have this behind their names.
const TWICE: [&str; 3] = ["reno", "bic", "cubic"];

/// The name that scenarios have for a file.
fn name_of(stem: &str) -> String {
    if TWICE.contains(&stem) { format!("{stem}-c") } else { stem.to_owned() }
}

/// Names of all, by the alphabet.
pub fn names() -> Vec<String> {
    CONTROLS.iter().map(|(stem, ..)| name_of(stem)).collect()
}

/// The algorithm of this name.
pub fn built_in(name: &str) -> Option<PluggedAlgorithm> {
    let (_, table, _) = CONTROLS.iter().find(|(stem, ..)| name_of(stem) == name)?;
    // SAFETY: the functions are those that were generated with the sources, and give tables that are static.
    let factory = unsafe { NativeFactory::new(name.to_owned(), table(), Calls::OURS, None) };
    Some(PluggedAlgorithm(Arc::new(factory)))
}

/// The C source of the algorithm of this name.
pub fn source_of(name: &str) -> Option<&'static str> {
    CONTROLS.iter().find(|(stem, ..)| name_of(stem) == name).map(|(_, _, source)| *source)
}

/// The name under which a kernel knows the algorithm of this name.
pub fn kernel_name_of(name: &str) -> Option<String> {
    let (_, table, _) = CONTROLS.iter().find(|(stem, ..)| name_of(stem) == name)?;
    // SAFETY: as above.
    unsafe { table().as_ref() }.and_then(Table::kernel_name)
}

/// The algorithm of this name compiled for eBPF; `None` as well where the feature `ebpf` is off.
pub fn object_of(name: &str) -> Option<&'static [u8]> {
    OBJECTS.iter().find(|(stem, _)| name_of(stem) == name).map(|(_, object)| *object)
}
