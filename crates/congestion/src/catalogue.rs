//! The algorithms of this repository, and the names under which kernels know congestion controls.
#![expect(unsafe_code, reason = "tables of C are looked at")]

use crate::native::{Calls, NativeFactory, Table};
use fairwind_tcp::PluggedAlgorithm;
use std::sync::Arc;

include!(concat!(env!("OUT_DIR"), "/controls.rs"));

/// Suffix of the names of algorithms that exist in Rust, too.
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

/// Algorithms of Linux 6.18 (`net/ipv4`).
const LINUX: [&str; 18] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "dctcp-reno",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// The owner of a congestion control of this name in kernels; `None` if there is none.
pub fn owner_of_kernel_name(name: &str) -> Option<&'static str> {
    if LINUX.contains(&name) {
        return Some("Linux");
    }
    let is_ours = names().iter().any(|ours| kernel_name_of(ours).is_some_and(|it| it == name));
    is_ours.then_some("this repository")
}

/// What is wrong with a name in a table; `None` is one longer than `TCP_CA_NAME_MAX`, 15 letters and a zero.
pub(crate) fn fault_of(name: Option<&str>) -> Option<&'static str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    match name {
        None => Some("its name has more than 15 letters"),
        Some("") => Some("its table has no name"),
        Some(name) if !name.chars().all(is_plain) => {
            Some("its name has other characters than letters, digits, - and _")
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_kernel_names_are_faults() {
        assert!(fault_of(None).is_some_and(|fault| fault.contains("15 letters")));
        assert!(fault_of(Some("")).is_some_and(|fault| fault.contains("no name")));
        for name in ["two words", "../up", "a.b"] {
            assert!(fault_of(Some(name)).is_some(), "{name}");
        }
        assert_eq!(fault_of(Some("fw_mine-2")), None);
    }

    #[test]
    fn linux_and_repository_names_have_owners() {
        assert_eq!(owner_of_kernel_name("cubic"), Some("Linux"));
        assert_eq!(owner_of_kernel_name("fw_htcp"), Some("this repository"));
        assert_eq!(owner_of_kernel_name("mine"), None);
    }
}
