//! Instances of a kernel that `fairwind kernel build` has made; skipped with a printed reason where there is none.

use fairwind_assembly::Control;
use fairwind_scenario::Document;
use fairwind_units::Span;
use fairwind_virtual_kernel::{
    Answer, ExperimentTask, InstanceError, ProgramTask, ScriptTask, Task, VirtualKernel,
};
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
    let worker = env!("CARGO_BIN_EXE_fairwind-worker").into();
    Some(VirtualKernel { program, worker, memory_bytes: None })
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
    let (program, worker) = ("/bin/false".into(), "/bin/true".into());
    let kernel = VirtualKernel { program, worker, memory_bytes: None };
    let folder = parent.path().join("instance");
    let answer = kernel.perform(Task::Check(Vec::new()), 1, &folder, &Control::default());
    let error = answer.expect_err("it is no kernel").to_string();
    assert!(error.contains("ended without a result (exit status: 1)"), "{error}");
}

fn experiment(path: &str) -> String {
    let text = format!(
        "name = \"small\"\nduration = \"5 s\"\n[path]\nrate = \"2 Mbit/s\"\nrtt = \"20 ms\"\n{path}\n\
         [[flows]]\nname = \"one\"\ncount = 2\nworkload = {{ kind = \"greedy\" }}\n"
    );
    let document = Document::parse("small.toml", &text).expect("a scenario");
    let experiment = document.experiment(&document.grid().expect("a grid")[0]);
    serde_json::to_string(&experiment.expect("an experiment")).expect("JSON")
}

/// Which flows share a bucket of the kernel's `fq_codel` depends on its random numbers.
#[test]
fn name_of_the_folder_changes_no_result() {
    let Some(kernel) = kernel() else { return };
    let parent = tempfile::tempdir().expect("a folder");
    let captures = parent.path().display().to_string();
    let path = "router = \"kernel\"\nqueue = { discipline = \"fq_codel\", flows = 2 }";
    let run = |folder: &str| {
        let experiment_json = experiment(path);
        let experiment = ExperimentTask { experiment_json, controls: Vec::new() };
        let task = Task::Run { experiment, seed: 1, captures: captures.clone() };
        let answer = kernel.perform(task, 1, &parent.path().join(folder), &Control::default());
        match answer.expect("an answer") {
            Answer::Ran(ran) => ran.tables,
            other => panic!("another answer: {other:?}"),
        }
    };
    let first = run("one");
    for folder in ["two", "a longer name"] {
        assert!(run(folder) == first, "{folder}");
    }
}

/// A program that takes memory until there is no more.
fn hungry() -> Task {
    Task::Program(ProgramTask {
        experiment_json: experiment(""),
        seed: 1,
        program: ["tail", "/dev/zero"].map(str::to_owned).to_vec(),
        outside: Vec::new(),
        directory: "/".to_owned(),
        report: None,
    })
}

#[test]
fn instance_out_of_memory_ends_with_a_hint() {
    let Some(kernel) = kernel() else { return };
    let parent = tempfile::tempdir().expect("a folder");
    let kernel = VirtualKernel { memory_bytes: Some(96 << 20), ..kernel };
    let folder = parent.path().join("instance");
    let answer = kernel.perform(hungry(), 1, &folder, &Control::default());
    let error = answer.expect_err("its memory is small");
    assert!(matches!(error, InstanceError::Panic { .. }), "{error}");
    assert!(error.to_string().contains("too little memory"), "{error}");
    assert!(!folder.exists());
}

#[test]
fn kernel_that_cannot_boot_is_quoted() {
    let Some(kernel) = kernel() else { return };
    let parent = tempfile::tempdir().expect("a folder");
    let kernel = VirtualKernel { memory_bytes: Some(2 << 20), ..kernel };
    let folder = parent.path().join("instance");
    let answer = kernel.perform(Task::Check(Vec::new()), 1, &folder, &Control::default());
    let error = answer.expect_err("there is hardly any memory").to_string();
    println!("{error}");
    assert!(error.contains("memory"), "{error}");
}
