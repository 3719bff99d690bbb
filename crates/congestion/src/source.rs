//! Transformation of a congestion control's source before native compilation.

use std::path::Path;

/// Divisions by zero go to a function of ours instead of ending the process.
pub(crate) const GUARD: [&str; 2] =
    ["-fsanitize=integer-divide-by-zero", "-fno-sanitize-recover=integer-divide-by-zero"];

/// The name of the table of hooks that a source ends with: `struct tcp_congestion_ops NAME = {`.
pub(crate) fn table_of(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(place) = rest.find("struct tcp_congestion_ops") {
        rest = &rest[place + "struct tcp_congestion_ops".len()..];
        let name: String = rest
            .trim_start()
            .chars()
            .take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
            .collect();
        let behind = rest.trim_start()[name.len()..].trim_start();
        if !name.is_empty() && behind.starts_with('=') {
            return Some(name);
        }
    }
    None
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
