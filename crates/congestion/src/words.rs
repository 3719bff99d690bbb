//! What compilers say: which names a source defines that the header has, too, and which files it includes.

use std::path::{Path, PathBuf};

/// Parts of the lines in which gcc or clang tell that something was defined before.
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

    /// What is to stand before the source: its functions have other names than the header's, whose macros are no more.
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
pub(crate) fn files_of(rule: &str, others: &[&Path]) -> Vec<PathBuf> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "#define HZ 1000UL\nu64 div64_u64(u64 dividend, u64 divisor);";

    #[test]
    fn names_that_the_header_has_too_are_renamed_or_forgotten() {
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
    fn the_words_of_clang_are_understood_as_well() {
        let mut own = OwnNames::default();
        let words = "mine.c:3:9: warning: 'HZ' macro redefined [-Wmacro-redefined]\n\
                     mine.c:9:14: error: static declaration of 'div64_u64' follows non-static declaration\n";
        assert!(own.learn(words, &[HEADER]));
        assert!(own.prelude().contains("#undef HZ\n") && own.prelude().contains("own_div64_u64"));
    }

    #[test]
    fn files_of_a_rule_are_those_beside_the_source() {
        let rule = "unit.o: /t/unit.c /t/fairwind.h \\\n /nowhere/my\\ own.h /nowhere/mine.c /nowhere/a.h\n";
        let files = files_of(rule, &[Path::new("/t"), Path::new("/nowhere/mine.c")]);
        assert_eq!(files, [PathBuf::from("/nowhere/a.h"), PathBuf::from("/nowhere/my own.h")]);
    }
}
