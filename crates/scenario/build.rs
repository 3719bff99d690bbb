//! List of the repository's congestion controls, one for each C file of `congestion/`, with the file's first sentence
//! about itself. This crate does not run them; it knows their names.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Those that the endpoint has in Rust, too, have this behind their names.
const TWICE: [&str; 3] = ["reno", "bic", "cubic"];

fn main() {
    let folder = Path::new("../../congestion");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).expect("the folder of congestion controls");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    let mut list =
        String::from("/// Names and descriptions.\nconst PLUGGED: &[(&str, &str)] = &[\n");
    let mut of_both_ends = Vec::new();
    for file in files {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let text = fs::read_to_string(&file).expect("a source can be read");
        let suffix = if TWICE.contains(&stem) { "-c" } else { "" };
        if text.contains(".flags = TCP_CONG_NEEDS_ECN") {
            of_both_ends.push(format!("{stem}{suffix}"));
        }
        writeln!(list, "    (\"{stem}{suffix}\", {:?}),", first_words(&text)).expect("a string");
    }
    list.push_str("];\n");
    writeln!(
        list,
        "/// Those that live by marks, which their receivers have to echo in their way.\n\
         const OF_BOTH_ENDS: &[&str] = &{of_both_ends:?};"
    )
    .expect("a string");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("controls.rs"), list).expect("the output can be written");
}

/// The first sentence of the first comment that is not the licence.
fn first_words(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix('*'));
    let lines = lines.map(str::trim).skip_while(|line| line.is_empty() || *line == "/");
    let mut words = String::new();
    for line in lines.take_while(|line| !line.is_empty() && *line != "/") {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(line);
        if words.ends_with('.') {
            break;
        }
    }
    words
}
