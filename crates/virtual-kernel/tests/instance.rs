//! Instances of a kernel that `fairwind kernel build` has made; skipped with a printed reason where there is none.

use fairwind_assembly::Control;
use fairwind_units::Span;
use fairwind_virtual_kernel::{Answer, InstanceError, ScriptTask, Task, VirtualKernel};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A built kernel, if there is one, with this build's worker.
fn kernel() -> Option<VirtualKernel> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))?;
    let built = std::fs::read_dir(cache.join("fairwind/kernels")).into_iter().flatten().flatten();
    let mut programs: Vec<PathBuf> = built
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("linux-"))
        .map(|entry| entry.path().join("linux"))
        .filter(|program| program.exists())
        .collect();
    programs.sort();
    let Some(program) = programs.pop() else {
        eprintln!("skipped: no kernel for virtual time is built (fairwind kernel build 6.12)");
        return None;
    };
    Some(VirtualKernel { program, worker: env!("CARGO_BIN_EXE_fairwind-worker").into() })
}

fn script(text: &str) -> Task {
    Task::Scripts(vec![ScriptTask {
        file: "test.pkt".to_owned(),
        text: text.to_owned(),
        definitions: Vec::new(),
        options: Vec::new(),
    }])
}

#[test]
fn hour_of_waiting_takes_seconds() {
    let Some(kernel) = kernel() else { return };
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("with a blank");
    let began = fairwind_linux::monotonic();
    let task = script("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+3600 close(3) = 0\n");
    let answer = kernel.perform(task, 1, &folder, &Control::default()).expect("an answer");
    let Answer::Followed(scripts) = answer else { panic!("another answer: {answer:?}") };
    assert_eq!(scripts[0].verdict, "passed", "{}", scripts[0].message);
    assert!(fairwind_linux::monotonic() < began + Span::from_secs(60));
    assert!(!folder.exists());
}

#[test]
fn kernel_without_worker_panics_with_a_hint() {
    let Some(kernel) = kernel() else { return };
    let parent = tempfile::tempdir().expect("a folder");
    let kernel = VirtualKernel { worker: "/nonexistent".into(), ..kernel };
    let folder = parent.path().join("instance");
    let answer = kernel.perform(Task::Check(Vec::new()), 1, &folder, &Control::default());
    let error = answer.expect_err("there is no worker");
    assert!(matches!(error, InstanceError::Panic { .. }), "{error}");
    assert!(error.to_string().contains("make build"), "{error}");
}

#[test]
fn cancelled_instance_ends_at_once() {
    let Some(kernel) = kernel() else { return };
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("instance");
    let control = Arc::new(Control::default());
    control.cancel();
    let answer = kernel.perform(Task::Check(Vec::new()), 1, &folder, &control);
    assert!(matches!(answer, Err(InstanceError::Cancelled) | Ok(Answer::Checked(_))));
    assert!(!folder.exists());
}

#[test]
fn program_that_is_no_kernel_is_reported_with_its_end() {
    let parent = tempfile::tempdir().expect("a folder");
    let kernel = VirtualKernel { program: "/bin/false".into(), worker: "/bin/true".into() };
    let folder = parent.path().join("instance");
    let answer = kernel.perform(Task::Check(Vec::new()), 1, &folder, &Control::default());
    let error = answer.expect_err("it is no kernel").to_string();
    assert!(error.contains("ended without a result (exit status: 1)"), "{error}");
}
