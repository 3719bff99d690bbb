//! Compiles the eBPF programs in `bpf/`, where the feature `ebpf` asks for them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: [&str; 3] = ["endpoints", "packets", "windows"];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    if env::var_os("CARGO_FEATURE_EBPF").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for name in PROGRAMS {
        compile(
            &Path::new("bpf").join(format!("{name}.bpf.c")),
            &out.join(format!("{name}.bpf.o")),
        );
    }
}

fn compile(source: &Path, object: &Path) {
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    // The types in the object, from which field offsets are found out at load, come with `-g`.
    let result = Command::new(&clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-c"])
        .arg(source)
        .arg("-o")
        .arg(object)
        .status();
    let trouble = match result {
        Ok(status) if status.success() => return,
        Ok(status) => format!("ended with {status}"),
        Err(error) => format!("cannot be started: {error}"),
    };
    panic!(
        "{} {}: {trouble}; eBPF programs need clang 12 or newer (apt-get install clang), or build \
         without the feature `ebpf`",
        Path::new(&clang).display(),
        source.display()
    );
}
