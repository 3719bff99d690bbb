//! Compilation of sources into libraries for the simulator and eBPF objects for a kernel.

use crate::diagnostics::{OwnNames, endless_loop_in, included_files};
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
/// The support code that is linked with every source.
const SUPPORT: &str = include_str!("../native/support.c");
const WATCHED: &str = include_str!("../native/watched.h");

/// What compiled congestion controls were compiled against: the header and what is linked with them.
pub fn interface() -> String {
    HEADERS.iter().map(|(_, text)| *text).chain([SUPPORT, WATCHED]).collect()
}

/// What a source does announces itself to functions of ours (`native/watched.h`), which end a hook that does what a kernel's
/// verifier would not take: stretches of instructions, accesses to memory, null pointers, quotients that there are not.
/// Where sums wrap, the least number divided by -1 is the only overflow that is left.
const WATCHES: [&str; 5] = [
    "-fno-builtin",
    "-fsanitize-coverage=trace-pc",
    "-fsanitize=thread",
    "-fsanitize=null,signed-integer-overflow",
    "-fno-sanitize-recover=null,signed-integer-overflow",
];
/// C as a kernel is compiled: sums wrap, and a look through a null pointer is not taken for impossible.
const AS_A_KERNEL: [&str; 3] =
    ["-fwrapv", "-fno-strict-aliasing", "-fno-delete-null-pointer-checks"];
/// Integers only, as in a kernel: compilers or linkers report floating point.
const INTEGERS: &[&str] = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
    &["-mgeneral-regs-only"]
} else {
    &[]
};
/// Loops that copy stay loops: they are what copies.
const PLAIN_LOOPS: [&str; 2] = ["-fno-builtin", "-fno-tree-loop-distribute-patterns"];
/// Largest number of compilations to find the names that a source defines itself.
const MOST_ATTEMPTS: usize = 4;

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
    /// The source is not a congestion control.
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
        /// The package to install.
        package: &'static str,
    },
    /// A loop neither ends nor does anything.
    #[error(
        "{path} has a loop in {function} that does nothing and never ends: no kernel takes it; give it a bound, as `for (i = 0; i < 32; i++)`",
        path = .path.display()
    )]
    Endless {
        /// The source.
        path: PathBuf,
        /// Which of its functions.
        function: String,
    },
    /// The compiler refuses the source.
    #[error("{words}\n{path} does not compile: {}", advice(words), path = .path.display())]
    Refused {
        /// The source.
        path: PathBuf,
        /// Messages of the compiler.
        words: String,
    },
}

/// Advice for a compiler error.
fn advice(words: &str) -> &'static str {
    // Compilers report floating point by the registers that it needs.
    if ["SSE register", "-mgeneral-regs-only"].iter().any(|hint| words.contains(hint)) {
        "all numbers are integers, and one there has a fraction; write x * 4 / 5 for x * 0.8"
    } else {
        "what it may use is declared in congestion/include/fairwind.h, and all numbers are integers"
    }
}

/// A source as it was compiled.
#[derive(Debug)]
pub struct Compiled {
    /// The library.
    pub library: PathBuf,
    /// Warnings of the compiler; empty if there are none.
    pub warnings: String,
    /// Files that the source includes, other than the header and the system's.
    pub included: Vec<PathBuf>,
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
    write(&folder.path().join("watched.h"), WATCHED)?;
    let compiler = Compiler::from_environment("CC", "cc", "gcc");
    let assembly = folder.path().join("unit.s");
    let common = || {
        let mut command = compiler.command();
        command
            .args(["-fPIC", "-O2", "-std=gnu11", "-Wall", "-Wno-unused", "-DFAIRWIND_WATCHED"])
            .arg("-Werror=implicit-function-declaration")
            .args(source::GUARD)
            .args(AS_A_KERNEL)
            .args(["-fvisibility=hidden", "-I"])
            .arg(folder.path());
        command
    };
    let of_source = || {
        let mut command = common();
        command.args(WATCHES).args(INTEGERS).arg("-S").arg(&unit).arg("-o").arg(&assembly);
        command
    };
    let made = compiler.compile(file, folder.path(), of_source)?;
    let text = fs::read_to_string(&assembly).map_err(|reason| at(&assembly, reason))?;
    if let Some(function) = endless_loop_in(&text) {
        return Err(CompileError::Endless { path: file.to_owned(), function: function.to_owned() });
    }
    let mut of_library = common();
    // Undefined symbols are reported now, and not when a run calls them.
    of_library.args(["-shared", "-Wl,-z,defs"]).args(PLAIN_LOOPS);
    of_library.args([&assembly, &support]);
    of_library.arg("-o").arg(out);
    compiler.run(of_library, file)?;
    Ok(Compiled { library: out.to_owned(), ..made })
}

/// Compiles a source into the eBPF object `out`, which a kernel can load.
///
/// # Errors
/// As [`compile`].
pub fn compile_object(file: &Path, out: &Path) -> Result<Compiled, CompileError> {
    table_of(file)?;
    let folder = headers(out)?;
    let compiler = Compiler::from_environment("CLANG", "clang", "clang");
    let of_object = || {
        let mut command = compiler.command();
        command
            .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wno-unused", "-I"])
            .arg(folder.path())
            .arg("-c")
            .arg(file)
            .arg("-o")
            .arg(out);
        command
    };
    let made = compiler.compile(file, folder.path(), of_object)?;
    Ok(Compiled { library: out.to_owned(), ..made })
}

struct Compiler {
    program: OsString,
    package: &'static str,
}

impl Compiler {
    fn from_environment(variable: &str, usual: &str, package: &'static str) -> Self {
        Self { program: env::var_os(variable).unwrap_or_else(|| usual.into()), package }
    }

    /// A command with English messages, as `diagnostics` parses them.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("LC_ALL", "C");
        command
    }

    /// Runs `command` as often as it takes until the source `file` and the header have no name in common that each defines.
    fn compile(
        &self,
        file: &Path,
        folder: &Path,
        command: impl Fn() -> Command,
    ) -> Result<Compiled, CompileError> {
        let (prelude, rule) = (folder.join("prelude.h"), folder.join("included.d"));
        let mut own = OwnNames::default();
        let mut attempts = 1;
        loop {
            write(&prelude, &own.prelude())?;
            let mut command = command();
            command.arg("-include").arg(&prelude).arg("-MMD").arg("-MF").arg(&rule);
            let compiled = self.run(command, file);
            let heard = match &compiled {
                Ok(warnings) => warnings,
                Err(CompileError::Refused { words, .. }) => words,
                Err(_) => "",
            };
            if attempts == MOST_ATTEMPTS || !own.learn(heard, &HEADERS.map(|(_, text)| text)) {
                let warnings = compiled?;
                let text = fs::read_to_string(&rule).unwrap_or_default();
                let included = included_files(&text, &[folder, file]);
                return Ok(Compiled { library: PathBuf::new(), warnings, included });
            }
            attempts += 1;
        }
    }

    fn run(&self, mut command: Command, file: &Path) -> Result<String, CompileError> {
        let output = command.output().map_err(|reason| CompileError::NoCompiler {
            compiler: self.program.to_string_lossy().into_owned(),
            reason,
            package: self.package,
        })?;
        let words = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        if output.status.success() {
            return Ok(words);
        }
        Err(CompileError::Refused { path: file.to_owned(), words })
    }
}

fn table_of(file: &Path) -> Result<String, CompileError> {
    let text = fs::read_to_string(file).map_err(|reason| at(file, reason))?;
    source::table_of(&text).ok_or_else(|| CompileError::NoTable(file.to_owned()))
}

/// A temporary folder with the headers, beside the output.
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
