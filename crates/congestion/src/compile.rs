//! Sources into libraries for the simulator and into eBPF objects for a kernel.

use crate::source;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// The header, and the names under which programs written for a kernel ask for it.
const HEADERS: [(&str, &str); 6] = [
    ("fairwind.h", include_str!("../../../congestion/include/fairwind.h")),
    ("vmlinux.h", include_str!("../../../congestion/include/vmlinux.h")),
    ("bpf_tracing_net.h", include_str!("../../../congestion/include/bpf_tracing_net.h")),
    ("bpf/bpf_helpers.h", include_str!("../../../congestion/include/bpf/bpf_helpers.h")),
    ("bpf/bpf_tracing.h", include_str!("../../../congestion/include/bpf/bpf_tracing.h")),
    ("bpf/bpf_core_read.h", include_str!("../../../congestion/include/bpf/bpf_core_read.h")),
];
const SUPPORT: &str = include_str!("../native/support.c");

/// What compiled congestion controls were compiled against: the header and what is linked with them.
pub fn interface() -> String {
    HEADERS.iter().map(|(_, text)| *text).chain([SUPPORT]).collect()
}

/// Every straight stretch of instructions begins with a call of a function of ours, which ends a hook that goes on and on.
const STEPS: &str = "-fsanitize-coverage=trace-pc";

/// Why a source could not be compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// It cannot be read, or the result not written.
    #[error("{path}: {reason}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// It is no congestion control.
    #[error(
        "{path} has no `struct tcp_congestion_ops NAME = {{ ... }}`: a congestion control ends with this table of its hooks",
        path = .0.display()
    )]
    NoTable(PathBuf),
    /// The compiler is missing.
    #[error("{compiler} cannot be started: {reason}; install it (apt-get install {package})")]
    NoCompiler {
        /// Its name.
        compiler: String,
        /// Why.
        reason: io::Error,
        /// What to install.
        package: &'static str,
    },
    /// The compiler refuses the source.
    #[error("{words}\n{path} does not compile: what it may use is declared in congestion/include/fairwind.h", path = .path.display())]
    Refused {
        /// The source.
        path: PathBuf,
        /// What the compiler said.
        words: String,
    },
}

/// A source as it was compiled.
#[derive(Debug)]
pub struct Compiled {
    /// The library.
    pub library: PathBuf,
    /// What the compiler warned of; empty if of nothing.
    pub warnings: String,
}

/// Compiles a source natively into the library `out`.
///
/// # Errors
/// If it is no congestion control or the compiler refuses it; its words are in the error.
pub fn compile(file: &Path, out: &Path) -> Result<Compiled, CompileError> {
    let table = table_of(file)?;
    let folder = headers(out)?;
    let path = fs::canonicalize(file).map_err(|reason| at(file, reason))?;
    let unit = folder.path().join("unit.c");
    write(&unit, &source::unit(&path, "plugged", &table))?;
    let support = folder.path().join("support.c");
    write(&support, SUPPORT)?;
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let object = folder.path().join("unit.o");
    let common = || {
        let mut command = Command::new(&compiler);
        command
            .args(["-fPIC", "-O2", "-std=gnu11", "-Wall", "-Wno-unused"])
            .arg("-Werror=implicit-function-declaration")
            .args(source::GUARD)
            .args(["-fvisibility=hidden", "-I"])
            .arg(folder.path());
        command
    };
    let mut of_source = common();
    of_source.arg(STEPS).arg("-c").arg(&unit).arg("-o").arg(&object);
    let warnings = run(of_source, &compiler, "gcc", file)?;
    let mut of_library = common();
    // What nobody provides is told now, and not where a run calls it.
    of_library.args(["-shared", "-Wl,-z,defs", "-DFAIRWIND_COUNTS_STEPS"]);
    of_library.args([&object, &support]);
    of_library.arg("-o").arg(out);
    run(of_library, &compiler, "gcc", file)?;
    Ok(Compiled { library: out.to_owned(), warnings })
}

/// Compiles a source into the eBPF object `out`, which a kernel can load.
///
/// # Errors
/// As [`compile`].
pub fn compile_object(file: &Path, out: &Path) -> Result<Compiled, CompileError> {
    table_of(file)?;
    let folder = headers(out)?;
    let compiler = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let mut command = Command::new(&compiler);
    command
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wno-unused", "-I"])
        .arg(folder.path())
        .arg("-c")
        .arg(file)
        .arg("-o")
        .arg(out);
    let warnings = run(command, &compiler, "clang", file)?;
    Ok(Compiled { library: out.to_owned(), warnings })
}

fn run(
    mut command: Command,
    compiler: &OsString,
    package: &'static str,
    file: &Path,
) -> Result<String, CompileError> {
    let compiler = compiler.to_string_lossy().into_owned();
    let output = command.output().map_err(|reason| CompileError::NoCompiler {
        compiler,
        reason,
        package,
    })?;
    let words = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    if output.status.success() {
        return Ok(words);
    }
    Err(CompileError::Refused { path: file.to_owned(), words })
}

fn table_of(file: &Path) -> Result<String, CompileError> {
    let text = fs::read_to_string(file).map_err(|reason| at(file, reason))?;
    source::table_of(&text).ok_or_else(|| CompileError::NoTable(file.to_owned()))
}

/// A folder with the headers, beside what is to be made: it is gone with its guard.
fn headers(out: &Path) -> Result<tempfile::TempDir, CompileError> {
    let beside =
        out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = tempfile::Builder::new()
        .prefix(".congestion")
        .tempdir_in(beside)
        .map_err(|reason| at(beside, reason))?;
    let inner = folder.path().join("bpf");
    fs::create_dir(&inner).map_err(|reason| at(&inner, reason))?;
    for (name, text) in HEADERS {
        write(&folder.path().join(name), text)?;
    }
    Ok(folder)
}

fn write(path: &Path, text: &str) -> Result<(), CompileError> {
    fs::write(path, text).map_err(|reason| at(path, reason))
}

fn at(path: &Path, reason: io::Error) -> CompileError {
    CompileError::File { path: path.to_owned(), reason }
}
