//! What the library has said since it was last asked: the reason of a refusal is in there.

use libbpf_rs::PrintLevel;
use std::sync::{Mutex, PoisonError};

/// More lines than these are not kept.
const MOST_LINES: usize = 64;

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps what the library says from now on.
pub fn listen() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() < MOST_LINES {
            said.push(text.trim_end().to_owned());
        }
    })));
}

/// An error with all that was said about it.
pub fn explained(error: &libbpf_rs::Error) -> String {
    let said = std::mem::take(&mut *SAID.lock().unwrap_or_else(PoisonError::into_inner));
    let hint = match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => {
            " (it needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN outside user namespaces)"
        }
        _ => "",
    };
    if said.is_empty() {
        format!("{error}{hint}")
    } else {
        format!("{error}{hint}; {}", said.join("; "))
    }
}
