//! Messages of libbpf since they were last read: they hold the reason of a refusal.

use libbpf_rs::PrintLevel;
use std::sync::{Mutex, PoisonError};

/// More lines than these are not kept.
const MOST_LINES: usize = 64;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps the messages of the library from now on.
pub fn capture() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        let mut messages = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() < MOST_LINES {
            messages.push(text.trim_end().to_owned());
        }
    })));
}

/// An error with all messages about it.
pub fn describe(error: &libbpf_rs::Error) -> String {
    let messages = std::mem::take(&mut *LINES.lock().unwrap_or_else(PoisonError::into_inner));
    let hint = match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => {
            " (it needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN outside user namespaces)"
        }
        _ => "",
    };
    if messages.is_empty() {
        format!("{error}{hint}")
    } else {
        format!("{error}{hint}; {}", messages.join("; "))
    }
}
