//! Support of tests on the running kernel; no production code depends on it.
//!
//! A test that needs root, namespaces, TUN devices or eBPF asks [`can_run`] first. Where something is missing, the
//! test is skipped and counted, unless the environment requires the kernel:
//!
//! | variable | meaning |
//! |---|---|
//! | `FAIRWIND_REQUIRE_KERNEL=1` | a missing requirement fails the test |
//! | `FAIRWIND_SKIPPED_TESTS=FILE` | skipped tests are appended to this file: suite, test and reason, separated by tabs |

#![expect(clippy::disallowed_methods, reason = "tests are configured by their environment")]
#![expect(clippy::print_stdout, reason = "skipped tests are reported")]

pub mod live;

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Whether a test on the kernel can run: there is no `obstacle`.
///
/// # Panics
/// If there is one and `FAIRWIND_REQUIRE_KERNEL=1` is set.
pub fn can_run(test: &str, obstacle: Option<impl Display>) -> bool {
    let Some(obstacle) = obstacle else { return true };
    let required = std::env::var("FAIRWIND_REQUIRE_KERNEL").is_ok_and(|value| value == "1");
    assert!(!required, "{test} requires the kernel (FAIRWIND_REQUIRE_KERNEL=1): {obstacle}");
    skip(test, obstacle);
    false
}

/// Reports that a test is skipped because something other than the kernel is missing.
pub fn skip(test: &str, reason: impl Display) {
    let reason = reason.to_string().replace(['\n', '\t'], " ");
    println!("skipped: {test}: {reason}");
    if let Ok(file) = std::env::var("FAIRWIND_SKIPPED_TESTS") {
        let line = format!("Rust\t{test}\t{reason}\n");
        let file = OpenOptions::new().append(true).create(true).open(file);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::can_run;

    #[test]
    fn test_without_obstacle_runs() {
        assert!(can_run("a test", None::<&str>));
    }
}
