//! Tests of a user's congestion control, compiled and loaded.

mod conventions;
mod faults;
mod modules;
mod names;
mod parameters;

use fairwind_congestion::{CompileError, Compiled, LoadError, compile, compile_object, load};
use fairwind_tcp::{CongestionControl, TcpSock};
use std::fs;
use std::path::PathBuf;

/// Half a window after a loss; a segment more per acknowledgment, as a division by `divisor`.
fn source(divisor: &str) -> String {
    format!(
        r#"
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

SEC("struct_ops")
u32 BPF_PROG(mine_ssthresh, struct sock *sk)
{{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}}

SEC("struct_ops")
void BPF_PROG(mine_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd += acked / {divisor};
}}

SEC("struct_ops")
u32 BPF_PROG(mine_undo_cwnd, struct sock *sk)
{{
	return tcp_reno_undo_cwnd(sk);
}}

SEC(".struct_ops")
struct tcp_congestion_ops mine = {{
	.ssthresh = (void *)mine_ssthresh,
	.cong_avoid = (void *)mine_cong_avoid,
	.undo_cwnd = (void *)mine_undo_cwnd,
	.name = "mine",
}};
"#
    )
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("mine.c"), text).expect("a source");
        Self { folder }
    }

    fn source(&self) -> PathBuf {
        self.folder.path().join("mine.c")
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join("mine.so")
    }

    fn compiled(&self) -> Compiled {
        compile(&self.source(), &self.library()).expect("it compiles")
    }

    /// One connection's algorithm of what was compiled.
    fn control(&self) -> Box<dyn CongestionControl> {
        load(&self.library(), "mine").expect("it loads").0.create()
    }

    /// Compiles it for a kernel; `None` if there is no compiler for that.
    #[expect(clippy::print_stdout, reason = "a test prints what it skips")]
    fn object(&self) -> Option<Compiled> {
        match compile_object(&self.source(), &self.folder.path().join("mine.o")) {
            Ok(compiled) => Some(compiled),
            Err(CompileError::NoCompiler { compiler, .. }) => {
                println!("skipped: no {compiler} here");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn sender(window: u32) -> TcpSock {
    TcpSock { window, ..TcpSock::default() }
}

#[test]
fn kernel_source_is_compiled_and_called() {
    let place = Place::new(&source("1"));
    let compiled = compile(&place.source(), &place.library()).expect("it compiles");
    assert_eq!(compiled.warnings, "");
    let algorithm = load(&place.library(), "mine").expect("it loads");
    let mut control = algorithm.0.create();
    let mut sender = sender(10);
    control.cong_avoid(&mut sender, 1, 3);
    assert_eq!(sender.window, 13);
    assert_eq!(control.ssthresh(&mut sender), 6);
    assert_eq!(control.take_fault(), None);
}

/// In a kernel a division by zero gives 0. Natively it ends the hook, and the fault names the line.
#[test]
fn division_by_zero_ends_hook_with_fault() {
    let place = Place::new(&source("tp->snd_cwnd_cnt"));
    compile(&place.source(), &place.library()).expect("it compiles");
    let algorithm = load(&place.library(), "mine").expect("it loads");
    let mut control = algorithm.0.create();
    let mut sender = sender(10);
    control.cong_avoid(&mut sender, 1, 3);
    assert_eq!(sender.window, 10, "nothing was written");
    let complaint = control.take_fault().expect("a complaint");
    assert!(complaint.contains("divided by zero in cong_avoid, at line 19"), "{complaint}");
    sender.credit = 1;
    control.cong_avoid(&mut sender, 1, 3);
    assert_eq!(sender.window, 13, "it goes on");
}

/// A kernel would not have taken it. Other hooks go on.
#[test]
fn endless_loop_is_ended_with_fault() {
    let endless = source("1").replace(
        "tp->snd_cwnd +=",
        "while (!READ_ONCE(tp->snd_cwnd_cnt))\n\t\t;\n\ttp->snd_cwnd +=",
    );
    let place = Place::new(&endless);
    compile(&place.source(), &place.library()).expect("it compiles");
    let mut control = load(&place.library(), "mine").expect("it loads").0.create();
    let mut sender = sender(10);
    control.cong_avoid(&mut sender, 1, 3);
    assert_eq!(sender.window, 10);
    let complaint = control.take_fault().expect("a complaint");
    assert!(complaint.contains("mine did not end in cong_avoid, and was ended"), "{complaint}");
    assert_eq!(control.ssthresh(&mut sender), 5);
    assert_eq!(control.take_fault(), None);
}

/// Compilers leave nothing in it that could be counted while it runs.
#[test]
fn empty_endless_loop_is_refused() {
    for endless in [
        "for (;;)\n\t\t;",
        "for (u32 n = acked; n != 0;)\n\t\tn = n * 3 | 1;",
        "again: goto again;",
    ] {
        let text = source("1").replace("tp->snd_cwnd +=", &format!("{endless}\n\ttp->snd_cwnd +="));
        let place = Place::new(&text);
        let error = compile(&place.source(), &place.library()).expect_err(endless).to_string();
        assert!(error.contains("has a loop in mine_cong_avoid that does nothing"), "{error}");
        assert!(!place.library().exists(), "{endless}");
    }
}

/// Ten thousand rounds in each call are none too many.
#[test]
fn long_finite_loop_completes() {
    let long = source("1").replace(
        "tp->snd_cwnd += acked",
        "for (u32 step = 0; step < 10000; step++)\n\t\tif (step % 3 == 1)\n\t\t\ttp->snd_cwnd_cnt++;\n\ttp->snd_cwnd += acked",
    );
    let place = Place::new(&long);
    compile(&place.source(), &place.library()).expect("it compiles");
    let mut control = load(&place.library(), "mine").expect("it loads").0.create();
    let mut sender = sender(10);
    for call in 1..=100 {
        control.cong_avoid(&mut sender, 1, 1);
        // Of the numbers up to 9999 a third leaves 1: 1, 4, ... 9997.
        assert_eq!((sender.window, sender.credit), (10 + call, 3333 * call));
    }
    assert_eq!(control.take_fault(), None);
}

#[test]
fn invalid_library_is_refused_with_reason() {
    let place = Place::new("int main(void) { return 0; }");
    let error = compile(&place.source(), &place.library()).expect_err("it is none");
    assert!(matches!(error, CompileError::NoTable(_)), "{error}");

    let place = Place::new(&source("nothing_known"));
    let error = compile(&place.source(), &place.library()).expect_err("it does not compile");
    let words = error.to_string();
    assert!(words.contains("nothing_known") && words.contains("mine.c"), "{words}");

    // A function that nobody has: unknown to the compiler, or declared and known to nobody else.
    let calling = |declaration: &str| {
        let call = "tcp_foo_bar(sk);\n\ttp->snd_cwnd += acked / 1;";
        declaration.to_owned() + &source("1").replace("tp->snd_cwnd += acked / 1;", call)
    };
    for declaration in ["", "struct sock;\nextern void tcp_foo_bar(struct sock *sk);\n"] {
        let place = Place::new(&calling(declaration));
        let error = compile(&place.source(), &place.library()).expect_err("nobody has it");
        assert!(error.to_string().contains("tcp_foo_bar"), "{error}");
    }

    fs::write(place.library(), "text").expect("a file");
    let error = load(&place.library(), "mine").expect_err("it is no library");
    assert!(matches!(error, LoadError::NotOurs { .. }), "{error}");

    let whole = source("1");
    let place = Place::new(&whole.replace(".undo_cwnd = (void *)mine_undo_cwnd,", ""));
    compile(&place.source(), &place.library()).expect("it compiles");
    let error = load(&place.library(), "mine").expect_err("a hook is missing");
    assert!(error.to_string().contains("has no undo_cwnd"), "{error}");
}

#[test]
fn same_source_compiles_for_kernel() {
    let place = Place::new(&source("2"));
    if let Some(compiled) = place.object() {
        assert!(fs::metadata(compiled.library).expect("the object").len() > 0);
    }
}

/// As a library of an older version would be, which had other functions beside its hooks.
#[test]
fn library_of_older_version_is_refused() {
    let place = Place::new("const void *fairwind_table_plugged(void) { return 0; }\n");
    let made = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&place.library(), &place.source()])
        .status();
    assert!(made.expect("a compiler").success());
    let error = load(&place.library(), "mine").expect_err("it is too old");
    assert!(error.to_string().contains("compile its source with"), "{error}");
}

#[test]
fn included_files_are_reported() {
    let text = format!("#include \"constants.h\"\n{}", source("DIVISOR"));
    let place = Place::new(&text);
    let header = place.folder.path().join("constants.h");
    fs::write(&header, "#define DIVISOR 3\n").expect("a header");
    let included = [fs::canonicalize(&header).expect("it is there")];
    assert_eq!(place.compiled().included, included);
    if let Some(compiled) = place.object() {
        assert_eq!(compiled.included, included);
    }
    let mut sender = sender(10);
    place.control().cong_avoid(&mut sender, 1, 6);
    assert_eq!(sender.window, 12);
}
