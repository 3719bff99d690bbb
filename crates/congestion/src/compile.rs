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
const HEADERS: [(&str, &str); 8] = [
    ("fairwind.h", include_str!("../../../congestion/include/fairwind.h")),
    ("vmlinux.h", include_str!("../../../congestion/include/vmlinux.h")),
    ("errno.h", include_str!("../../../congestion/include/errno.h")),
    ("bpf_tracing_net.h", include_str!("../../../congestion/include/bpf_tracing_net.h")),
    ("bpf/bpf_helpers.h", include_str!("../../../congestion/include/bpf/bpf_helpers.h")),
    ("bpf/bpf_tracing.h", include_str!("../../../congestion/include/bpf/bpf_tracing.h")),
    ("bpf/bpf_core_read.h", include_str!("../../../congestion/include/bpf/bpf_core_read.h")),
    (MODULE, include_str!("../../../congestion/include/kernel_module.h")),
];
/// The header that stands in the place of all those of a kernel that the source of a kernel's module includes.
const MODULE: &str = "kernel_module.h";
/// Folders of a kernel's headers.
const KERNEL_FOLDERS: [&str; 3] = ["linux/", "net/", "asm/"];
/// The support code that is linked with every source.
const SUPPORT: &str = include_str!("../native/support.c");
const WATCHED: &str = include_str!("../native/watched.h");
/// CUBIC of a kernel, for sources that call its functions, and the algorithm that it consists of.
const CUBIC: [(&str, &str); 2] = [
    ("cubictcp.c", include_str!("../native/cubictcp.c")),
    ("cubic.c", include_str!("../../../congestion/cubic.c")),
];
const CALLS_CUBIC: &str = "cubictcp_";

/// What compiled congestion controls were compiled against: the header and what is linked with them.
pub fn interface() -> String {
    let linked = CUBIC.iter().map(|(_, text)| *text).chain([SUPPORT, WATCHED]);
    HEADERS.iter().map(|(_, text)| *text).chain(linked).collect()
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
    /// The source of a kernel's module is no eBPF program.
    #[error(
        "{path} is the source of a kernel's module, which runs in the simulator only: compile it with --no-object; \
         a kernel has it as its own module (modprobe)",
        path = .0.display()
    )]
    Module(PathBuf),
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
    let (text, table) = read(file)?;
    let folder = headers(out, &text)?;
    let path = fs::canonicalize(file).map_err(|reason| at(file, reason))?;
    let unit = folder.path().join("unit.c");
    write(&unit, &source::unit(&path, "plugged", &table))?;
    let support = folder.path().join("support.c");
    write(&support, SUPPORT)?;
    let cubic = cubic_if_called(&text, folder.path())?;
    write(&folder.path().join("watched.h"), WATCHED)?;
    let compiler = Compiler::from_environment("CC", "cc", "gcc");
    let assembly = folder.path().join("unit.s");
    let of_module = text.contains(source::REGISTERS).then_some("-DFAIRWIND_MODULE");
    let common = || {
        let mut command = compiler.command();
        command
            .args(["-fPIC", "-O2", "-std=gnu11", "-Wall", "-Wno-unused", "-DFAIRWIND_WATCHED"])
            .arg("-Werror=implicit-function-declaration")
            .args(source::GUARD)
            .args(AS_A_KERNEL)
            .args(of_module)
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
    let code = fs::read_to_string(&assembly).map_err(|reason| at(&assembly, reason))?;
    if let Some(function) = endless_loop_in(&code) {
        return Err(CompileError::Endless { path: file.to_owned(), function: function.to_owned() });
    }
    let mut of_library = common();
    // Undefined symbols are reported now, and not when a run calls them.
    of_library.args(["-shared", "-Wl,-z,defs"]).args(PLAIN_LOOPS);
    of_library.args([&assembly, &support]).args(cubic).arg("-o").arg(out);
    compiler.run(of_library, file)?;
    Ok(Compiled { library: out.to_owned(), ..made })
}

/// Compiles a source into the eBPF object `out`, which a kernel can load.
///
/// # Errors
/// As [`compile`].
pub fn compile_object(file: &Path, out: &Path) -> Result<Compiled, CompileError> {
    let (text, _) = read(file)?;
    if text.contains(source::REGISTERS) {
        return Err(CompileError::Module(file.to_owned()));
    }
    let folder = headers(out, &text)?;
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

/// The text of a source, and the name of its table.
fn read(file: &Path) -> Result<(String, String), CompileError> {
    let text = fs::read_to_string(file).map_err(|reason| at(file, reason))?;
    let table = source::table_of(&text).ok_or_else(|| CompileError::NoTable(file.to_owned()))?;
    Ok((text, table))
}

/// Writes CUBIC of a kernel into a folder, if a source calls it; the file to compile.
fn cubic_if_called(text: &str, folder: &Path) -> Result<Option<PathBuf>, CompileError> {
    // A module that is CUBIC itself has functions of these names.
    if !text.contains(CALLS_CUBIC) || text.contains(source::REGISTERS) {
        return Ok(None);
    }
    for (name, text) in CUBIC {
        write(&folder.join(name), text)?;
    }
    Ok(Some(folder.join(CUBIC[0].0)))
}

/// A temporary folder with the headers that a source asks for, beside the output.
fn headers(out: &Path, text: &str) -> Result<tempfile::TempDir, CompileError> {
    let beside =
        out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = tempfile::Builder::new()
        .prefix(".congestion")
        .tempdir_in(beside)
        .map_err(|reason| at(beside, reason))?;
    for (name, text) in HEADERS {
        write(&folder.path().join(name), text)?;
    }
    if text.contains(source::REGISTERS) {
        for name in kernel_headers(text) {
            write(&folder.path().join(name), &format!("#include \"{MODULE}\"\n"))?;
        }
    }
    Ok(folder)
}

/// The headers of a kernel that a source includes, as `linux/mm.h`.
fn kernel_headers(text: &str) -> impl Iterator<Item = &str> {
    let names = text.lines().filter_map(|line| {
        let (_, name) = line.trim_start().strip_prefix('#')?.split_once("include <")?;
        Some(name.split_once('>')?.0)
    });
    names.filter(|name| {
        !name.contains("..") && KERNEL_FOLDERS.iter().any(|folder| name.starts_with(folder))
    })
}

/// Writes a file, in a new folder if it is to lie in one.
fn write(path: &Path, text: &str) -> Result<(), CompileError> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text))
        .map_err(|reason| at(path, reason))
}

fn at(path: &Path, reason: io::Error) -> CompileError {
    CompileError::File { path: path.to_owned(), reason }
}
