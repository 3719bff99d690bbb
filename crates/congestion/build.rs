//! Compiles the congestion controls of the repository, each with a function that gives its table of hooks.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "src/source.rs"]
mod source;

fn main() {
    let folder = Path::new("../../congestion");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=native");
    println!("cargo::rerun-if-changed=src/source.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut build = cc::Build::new();
    build
        .include(folder.join("include"))
        .std("gnu11")
        .opt_level(2)
        .extra_warnings(false)
        .flags(source::GUARD)
        .flag("-fvisibility=hidden")
        .file("native/support.c");
    let mut names = Vec::new();
    for file in sources(folder) {
        let text = fs::read_to_string(&file).expect("a source can be read");
        let table = source::table_of(&text)
            .unwrap_or_else(|| panic!("{} has no table of hooks", file.display()));
        let stem = file.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let path = fs::canonicalize(&file).expect("it is there");
        let unit = out.join(format!("{stem}_unit.c"));
        fs::write(&unit, source::unit(&path, &stem, &table)).expect("the output can be written");
        build.file(unit);
        // The sources are shown from here: the place of the repository may change.
        fs::write(out.join(format!("{stem}.c")), &text).expect("the output can be written");
        names.push((stem, path));
    }
    build.compile("fairwind_congestion_controls");
    println!("cargo::rerun-if-env-changed=CLANG");
    let has_objects = env::var_os("CARGO_FEATURE_EBPF").is_some();
    if has_objects {
        for (name, path) in &names {
            compile_object(path, &folder.join("include"), &out.join(format!("{name}.bpf.o")));
        }
    }
    fs::write(out.join("controls.rs"), list(&names, has_objects))
        .expect("the output can be written");
}

/// Compiles a source for a kernel.
fn compile_object(source: &Path, include: &Path, object: &Path) {
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let result = Command::new(&clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wno-unused", "-I"])
        .arg(include)
        .arg("-c")
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
        "{} {}: {trouble}; congestion controls for a kernel need clang 12 or newer (apt-get install clang), or \
         build without the feature `ebpf`",
        Path::new(&clang).display(),
        source.display()
    );
}

/// The C files of a folder, by name.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of congestion controls");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    found.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    found.sort();
    found
}

/// Rust that declares the functions, a table of names, functions and sources, and one of names and objects.
fn list(names: &[(String, PathBuf)], has_objects: bool) -> String {
    let mut text = String::from("unsafe extern \"C\" {\n");
    for (name, _) in names {
        writeln!(text, "    fn fairwind_table_{name}() -> *const Table;").expect("a string");
    }
    text.push_str(
        "}\n\nconst CONTROLS: &[(&str, unsafe extern \"C\" fn() -> *const Table, &str)] = &[\n",
    );
    for (name, _) in names {
        writeln!(
            text,
            "    (\"{name}\", fairwind_table_{name}, include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}.c\"))),"
        )
        .expect("a string");
    }
    text.push_str("];\n\nconst OBJECTS: &[(&str, &[u8])] = &[\n");
    for (name, _) in names.iter().filter(|_| has_objects) {
        writeln!(
            text,
            "    (\"{name}\", include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.bpf.o\"))),"
        )
        .expect("a string");
    }
    text.push_str("];\n");
    text
}
