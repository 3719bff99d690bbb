//! Transformation of a congestion control's source before native compilation.

use std::path::Path;

/// Divisions by zero go to a function of ours instead of ending the process.
pub(crate) const GUARD: [&str; 2] =
    ["-fsanitize=integer-divide-by-zero", "-fno-sanitize-recover=integer-divide-by-zero"];

/// The call by which the source of a kernel's module makes its table known; no other source has it.
pub(crate) const REGISTERS: &str = "tcp_register_congestion_control(&";

/// The name of a source's table of hooks: the one that a module registers; else the first with the hook `ssthresh`,
/// as a source may have others that a kernel is to refuse; else the first.
pub(crate) fn table_of(text: &str) -> Option<String> {
    let tables = tables(text);
    let registered = text.split_once(REGISTERS).map(|(_, rest)| word(rest));
    let is_registered = |name: &str| registered.is_some_and(|wanted| wanted == name);
    let has_hook = |body: &str| body.split_once("};").unwrap_or((body, "")).0.contains(".ssthresh");
    let found = tables
        .iter()
        .find(|(name, _)| is_registered(name))
        .or_else(|| tables.iter().find(|(_, body)| has_hook(body)))
        .or_else(|| tables.first());
    found.map(|(name, _)| (*name).to_owned())
}

/// All `struct tcp_congestion_ops NAME ATTRIBUTE = {`: the names, and the text behind the `=`.
fn tables(text: &str) -> Vec<(&str, &str)> {
    text.split("struct tcp_congestion_ops")
        .skip(1)
        .filter_map(|piece| {
            let (head, body) = piece.split_once('=')?;
            let is_declared =
                head.chars().all(|letter| is_of_word(letter) || letter.is_whitespace());
            let name = word(head.trim_start());
            (is_declared && !name.is_empty()).then_some((name, body))
        })
        .collect()
}

/// The word that a text begins with.
fn word(text: &str) -> &str {
    text.split(|letter| !is_of_word(letter)).next().unwrap_or_default()
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// A unit of compilation: the source, and a function that gives its table.
pub(crate) fn unit(source: &Path, name: &str, table: &str) -> String {
    let path = source.display();
    format!(
        "#define _license fairwind_license_{name}\n\
         #include \"{path}\"\n\
         const struct tcp_congestion_ops *fairwind_table_{name}(void);\n\
         __attribute__((visibility(\"default\")))\n\
         const struct tcp_congestion_ops *fairwind_table_{name}(void) {{ return &{table}; }}\n"
    )
}
