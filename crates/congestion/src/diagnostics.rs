//! Compiler output: names that a source defines although the header has them, files that it includes,
//! and loops that never end.

use std::path::{Path, PathBuf};

/// Parts of the messages of gcc or clang about redefinitions.
const OF_FUNCTIONS: [&str; 4] =
    ["redefinition of", "conflicting types for", "static declaration of", "redeclaration of"];
const OF_MACROS: [&str; 2] = ["redefined", "macro redefined"];

/// Names that a source defines for itself although the header has them: programs written for a kernel's own headers
/// bring small functions (`div64_u64`) and macros (`clamp`, `HZ`) along. The source keeps its own, and the header its.
#[derive(Debug, Default)]
pub(crate) struct OwnNames {
    functions: Vec<String>,
    macros: Vec<String>,
}

impl OwnNames {
    /// Takes names from what a compiler has said, if one of `headers` has them; whether there were new ones.
    pub(crate) fn learn(&mut self, words: &str, headers: &[&str]) -> bool {
        let before = (self.functions.len(), self.macros.len());
        for line in words.lines() {
            let is_of = |parts: &[&str]| parts.iter().any(|part| line.contains(part));
            let names = if is_of(&OF_FUNCTIONS) {
                &mut self.functions
            } else if is_of(&OF_MACROS) {
                &mut self.macros
            } else {
                continue;
            };
            let Some(name) = quoted(line) else { continue };
            let is_known = headers.iter().any(|text| has_word(text, name));
            if is_known && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        before != (self.functions.len(), self.macros.len())
    }

    /// The text to put before the source: it renames the header's functions and undefines the header's macros.
    pub(crate) fn prelude(&self) -> String {
        if self.functions.is_empty() && self.macros.is_empty() {
            return String::new();
        }
        let macros = self.macros.iter().map(|name| format!("#undef {name}\n"));
        let functions = self.functions.iter().map(|name| format!("#define {name} own_{name}\n"));
        let lines: String = macros.chain(functions).collect();
        format!("#include \"fairwind.h\"\n{lines}")
    }
}

/// The first name in quotation marks.
fn quoted(line: &str) -> Option<&str> {
    let marks = ['\'', '"', '\u{2018}', '\u{2019}'];
    let is_name = |part: &&str| {
        !part.is_empty()
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    line.split(marks).skip(1).step_by(2).find(is_name)
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .any(|found| found == word)
}

/// The files that a rule for `make` names (`-MMD`), without `others` and what lies in them.
pub(crate) fn included_files(rule: &str, others: &[&Path]) -> Vec<PathBuf> {
    let others: Vec<PathBuf> = others.iter().map(|path| canonical(path)).collect();
    let (_, files) = rule.split_once(": ").unwrap_or_default();
    let mut found: Vec<PathBuf> = unescaped(files)
        .into_iter()
        .map(|file| canonical(Path::new(&file)))
        .filter(|file| !others.iter().any(|other| file.starts_with(other)))
        .collect();
    found.sort();
    found.dedup();
    found
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The words of a rule: a backslash keeps a space, and continues a line.
fn unescaped(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let escaped = if letter == '\\' { letters.next() } else { None };
        match (letter, escaped) {
            (_, Some(kept)) if kept != '\n' => words.last_mut().expect("one").push(kept),
            (_, Some(_)) => words.push(String::new()),
            (space, None) if space.is_whitespace() => words.push(String::new()),
            (plain, None) => words.last_mut().expect("one").push(plain),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Finds the function that has a loop without an end in which nothing happens, in the assembly of a source: a jump to
/// itself. Compilers leave nothing in such a loop that could be counted.
///
/// Whatever a loop does is announced there (`native/watched.h`), and ends a hook that does it for ever; loops of nothing
/// become this one jump, in whatever way they were written.
pub(crate) fn endless_loop_in(assembly: &str) -> Option<&str> {
    let mut function = "";
    let mut labels = Vec::new();
    for line in assembly.lines() {
        let code = without_remark(line).trim();
        if let Some(label) = code.strip_suffix(':') {
            if !label.starts_with('.') {
                function = label;
            }
            labels.push(label);
        } else if !code.is_empty() && !code.starts_with('.') {
            if jump_target(code).is_some_and(|target| labels.contains(&target)) {
                return Some(name_of(function));
            }
            labels.clear();
        }
    }
    None
}

/// Remarks begin with `#` on x86 and with `//` on Arm.
fn without_remark(line: &str) -> &str {
    let end = [line.find('#'), line.find("//")].into_iter().flatten().min();
    end.map_or(line, |end| &line[..end])
}

/// Where an unconditional jump of x86 (`jmp`) or Arm (`b`) leads.
fn jump_target(code: &str) -> Option<&str> {
    let mut words = code.split_whitespace();
    matches!(words.next(), Some("jmp" | "b")).then(|| words.next()).flatten()
}

/// The name in the source: `BPF_PROG` puts underscores before it, compilers what they have made of it behind a dot.
fn name_of(label: &str) -> &str {
    label.trim_start_matches('_').split('.').next().unwrap_or(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "#define HZ 1000UL\nu64 div64_u64(u64 dividend, u64 divisor);";

    #[test]
    fn names_shared_with_header_are_renamed() {
        let mut own = OwnNames::default();
        assert_eq!(own.prelude(), "");
        let words = "mine.c:3:9: warning: \"HZ\" redefined\n\
                     mine.c:9:14: error: redefinition of 'div64_u64'\n\
                     mine.c:11:5: error: redefinition of 'only_mine'\n";
        assert!(own.learn(words, &[HEADER]));
        assert_eq!(
            own.prelude(),
            "#include \"fairwind.h\"\n#undef HZ\n#define div64_u64 own_div64_u64\n"
        );
        assert!(!own.learn(words, &[HEADER]), "there is nothing new");
    }

    #[test]
    fn clang_messages_are_parsed() {
        let mut own = OwnNames::default();
        let words = "mine.c:3:9: warning: 'HZ' macro redefined [-Wmacro-redefined]\n\
                     mine.c:9:14: error: static declaration of 'div64_u64' follows non-static declaration\n";
        assert!(own.learn(words, &[HEADER]));
        assert!(own.prelude().contains("#undef HZ\n") && own.prelude().contains("own_div64_u64"));
    }

    #[test]
    fn makefile_rule_lists_included_files() {
        let rule = "unit.o: /t/unit.c /t/fairwind.h \\\n /nowhere/my\\ own.h /nowhere/mine.c /nowhere/a.h\n";
        let files = included_files(rule, &[Path::new("/t"), Path::new("/nowhere/mine.c")]);
        assert_eq!(files, [PathBuf::from("/nowhere/a.h"), PathBuf::from("/nowhere/my own.h")]);
    }

    #[test]
    fn self_jump_is_found_with_its_function() {
        let loops = "f:\n.LFB0:\n\tcall\tstep@PLT\n.L3:\n\t.loc 1 2 3\n\tjmp\t.L3\n";
        assert_eq!(endless_loop_in(loops), Some("f"));
        assert_eq!(endless_loop_in("f: # @f\n.L3: # Loop\n\tjmp .L3 # again\n"), Some("f"));
        let on_arm = "____g.part.0: // @g\n\tbl\tstep\n.L2:\t// Loop\n\t.p2align 4\n\tb\t.L2\n";
        assert_eq!(endless_loop_in(on_arm), Some("g"));
    }

    #[test]
    fn other_loops_are_not_self_jumps() {
        assert_eq!(endless_loop_in("f:\n.L3:\n\tcall\tstep@PLT\n\tjmp\t.L3\n"), None);
        assert_eq!(endless_loop_in("f:\n.L3:\n\tjmp\t.L4\n.L4:\n\tjne\t.L4\n\tjmp\tg\n"), None);
    }
}
