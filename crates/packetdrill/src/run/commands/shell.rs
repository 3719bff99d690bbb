//! Parser of simple shell commands.
//!
//! Supported: commands separated by newlines, `;`, `&&`, `||` and `&`; comments; backslashes;
//! single and double quotes; `NAME=VALUE`, `$NAME`, `${NAME}`, `${NAME:-default}`; `$((...))` over
//! integers; redirections. Unset names are empty, as in a shell; process ids (`$$`, `$PPID`) are 1.
//! Everything else (other pipes, `if`, loops, functions, `$(...)`) makes a script unsupported.

use super::inspect::begins_pipeline;
use crate::code::{self, Environment, Value};
use crate::outcome::{Step, Stop};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<String>,
    /// The commands before it in a pipe, with their words.
    pub(super) feeding: Vec<Vec<String>>,
    /// The file that its output is written to.
    pub(super) output: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Always,
    OnSuccess,
    OnFailure,
}

/// Reserved words, which are not supported.
const RESERVED: [&str; 14] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "function", "{",
];

/// Iterator over commands; an assignment affects later commands.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a str,
    variables: BTreeMap<String, String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, variables: BTreeMap<String, String>) -> Self {
        Self { rest: text, variables }
    }

    pub(super) fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// The next command and its separator; `None` at the end.
    pub(super) fn next_command(&mut self) -> Step<Option<(SimpleCommand, Separator)>> {
        let mut command = SimpleCommand::default();
        loop {
            self.skip_blanks();
            if self.rest.starts_with('|') && !self.rest.starts_with("||") {
                let program = command.words.first().map(String::as_str);
                if !program.is_some_and(begins_pipeline) {
                    return Err(unreadable("|"));
                }
                self.take(1);
                command.feeding.push(std::mem::take(&mut command.words));
                continue;
            }
            if let Some(separator) = self.separator()? {
                let assigned = self.take_assignments(&mut command);
                if command.words.is_empty() && !assigned && separator == Separator::Always {
                    continue;
                }
                return Ok(Some((command, separator)));
            }
            if self.rest.is_empty() {
                let assigned = self.take_assignments(&mut command);
                let is_something = assigned || !command.words.is_empty();
                return Ok(is_something.then_some((command, Separator::Always)));
            }
            if self.rest.starts_with('#') {
                self.skip_to_line_end();
            } else if !self.redirection(&mut command)? {
                let word = self.word()?;
                if command.words.is_empty() && RESERVED.contains(&word.as_str()) {
                    return Err(unreadable(&word));
                }
                command.words.push(word);
            }
        }
    }

    /// Leading words `NAME=VALUE` set variables; `export` does the same.
    fn take_assignments(&mut self, command: &mut SimpleCommand) -> bool {
        if command.words.first().is_some_and(|word| word == "export") {
            command.words.remove(0);
        }
        let mut assigned = false;
        while let Some((name, value)) = command.words.first().and_then(|word| word.split_once('='))
        {
            if !is_name(name) {
                break;
            }
            self.variables.insert(name.to_owned(), value.to_owned());
            command.words.remove(0);
            assigned = true;
        }
        assigned
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn take_if(&mut self, text: &str) -> bool {
        let found = self.rest.starts_with(text);
        if found {
            self.take(text.len());
        }
        found
    }

    /// Skips blanks and escaped newlines within a line.
    fn skip_blanks(&mut self) {
        while self.take_if(" ") || self.take_if("\t") || self.take_if("\r") || self.take_if("\\\n")
        {
        }
    }

    fn skip_to_line_end(&mut self) {
        let length = self.rest.find('\n').unwrap_or(self.rest.len());
        self.take(length);
    }

    fn separator(&mut self) -> Step<Option<Separator>> {
        if self.rest.starts_with("&>") {
            return Ok(None);
        }
        if self.take_if("&&") {
            self.skip_lines();
            return Ok(Some(Separator::OnSuccess));
        }
        if self.take_if("||") {
            self.skip_lines();
            return Ok(Some(Separator::OnFailure));
        }
        if self.take_if("\n") || self.take_if(";") || self.take_if("&") {
            return Ok(Some(Separator::Always));
        }
        if self.rest.starts_with(['|', '(', ')']) {
            return Err(unreadable(&self.rest[..1]));
        }
        Ok(None)
    }

    /// Skips newlines after `&&` and similar.
    fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if !self.take_if("\n") {
                return;
            }
        }
    }

    /// `[n]>[>] file`, `n>&m`, `&> file`, `< file`
    fn redirection(&mut self, command: &mut SimpleCommand) -> Step<bool> {
        let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let behind = &self.rest[digits..];
        let both = self.rest.starts_with("&>");
        if !behind.starts_with(['>', '<']) && !both {
            return Ok(false);
        }
        let number = self.take(digits);
        self.take_if("&");
        let reads = self.take_if("<");
        if self.take_if(">") {
            self.take_if(">");
        }
        if self.take_if("&") {
            self.word()?;
            return Ok(true);
        }
        self.skip_blanks();
        let file = self.word()?;
        if !reads && matches!(number, "" | "1") {
            command.output = Some(file);
        }
        Ok(true)
    }

    /// One word with everything in it replaced.
    fn word(&mut self) -> Step<String> {
        let mut word = String::new();
        while let Some(first) = self.rest.chars().next() {
            match first {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    self.take(1);
                    let Some(length) = self.rest.find('\'') else { return Err(unreadable("'")) };
                    word.push_str(self.take(length));
                    self.take(1);
                }
                '"' => self.double_quoted(&mut word)?,
                '$' => word.push_str(&self.replaced()?),
                '\\' => self.escaped(&mut word),
                _ => word.push_str(self.take(first.len_utf8())),
            }
        }
        Ok(word)
    }

    fn double_quoted(&mut self, word: &mut String) -> Step<()> {
        self.take(1);
        loop {
            match self.rest.chars().next() {
                None => return Err(unreadable("\"")),
                Some('"') => {
                    self.take(1);
                    return Ok(());
                }
                Some('$') => word.push_str(&self.replaced()?),
                Some('\\') => self.escaped(word),
                Some(other) => word.push_str(self.take(other.len_utf8())),
            }
        }
    }

    /// Takes a backslash and the escaped character; an escaped newline adds nothing.
    fn escaped(&mut self, word: &mut String) {
        self.take(1);
        if let Some(next) = self.rest.chars().next() {
            let taken = self.take(next.len_utf8());
            word.push_str(if next == '\n' { "" } else { taken });
        }
    }

    /// Expands the parameter after `$`.
    fn replaced(&mut self) -> Step<String> {
        self.take(1);
        if self.take_if("((") {
            return self.arithmetic();
        }
        if self.take_if("{") {
            let Some(length) = self.rest.find('}') else { return Err(unreadable("${")) };
            let inner = self.take(length);
            self.take(1);
            let (name, otherwise) = inner.split_once(":-").unwrap_or((inner, ""));
            let value = self.variable(name);
            return Ok(if value.is_empty() { otherwise.to_owned() } else { value });
        }
        if self.take_if("$") {
            return Ok("1".to_owned());
        }
        if self.rest.starts_with('(') {
            return Err(unreadable("$("));
        }
        let length = self.rest.find(|c| !is_name_character(c)).unwrap_or(self.rest.len());
        let name = self.take(length);
        Ok(if name.is_empty() { "$".to_owned() } else { self.variable(name) })
    }

    fn variable(&self, name: &str) -> String {
        let known = self.variables.get(name).cloned();
        known.unwrap_or_else(|| if name == "PPID" { "1".to_owned() } else { String::new() })
    }

    /// Evaluates `expression))` after `$((`, like embedded code, but `/` truncates.
    fn arithmetic(&mut self) -> Step<String> {
        let Some(length) = self.rest.find("))") else { return Err(unreadable("$((")) };
        let formula = self.take(length).replace('$', "").replace('/', "//");
        self.take(2);
        let mut environment = Environment::default();
        for (name, value) in &self.variables {
            if let Ok(number) = value.parse() {
                environment.define(name, Value::Number(number));
            }
        }
        code::run(&format!("outcome = ({formula})"), &mut environment)?;
        match environment.get("outcome") {
            Some(value) => Ok(value.to_string()),
            None => Err(unreadable("$((")),
        }
    }
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(is_name_character)
}

fn unreadable(what: &str) -> Stop {
    Stop::unsupported(format!("`{what}` in a command of the shell is not understood"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Step<Vec<(Vec<String>, Separator)>> {
        let mut reader = Reader::new(text, BTreeMap::new());
        let mut commands = Vec::new();
        while let Some((command, separator)) = reader.next_command()? {
            commands.push((command.words, separator));
        }
        Ok(commands)
    }

    fn words(text: &str) -> Vec<String> {
        commands(text).unwrap().remove(0).0
    }

    #[test]
    fn commands_are_parted_and_joined() {
        let found = commands("one # two\n\n three; four && \n five || six\\\n 7 &").unwrap();
        let text: Vec<String> = found
            .iter()
            .map(|(words, separator)| format!("{} {separator:?}", words.join(" ")))
            .collect();
        assert_eq!(
            text,
            ["one Always", "three Always", "four OnSuccess", "five OnFailure", "six 7 Always"]
        );
    }

    #[test]
    fn quotes_join_words_and_variables_expand() {
        assert_eq!(words("a=\"4096 $((256*1024))\" "), Vec::<String>::new());
        assert_eq!(
            words("sysctl -q x=\"4096 $((3*1024/5)) '1'\" 'a $b' c\\ d"),
            ["sysctl", "-q", "x=4096 614 '1'", "a $b", "c d"]
        );
        let mut reader =
            Reader::new("N=3; echo $N ${N}x ${M:-4} $((N*2)) /tmp/x_${PPID}", BTreeMap::new());
        reader.next_command().unwrap();
        let (command, _) = reader.next_command().unwrap().unwrap();
        assert_eq!(command.words, ["echo", "3", "3x", "4", "6", "/tmp/x_1"]);
    }

    #[test]
    fn output_goes_to_a_file() {
        let mut reader = Reader::new("echo 0 >/proc/x 2>&1 </dev/null", BTreeMap::new());
        let (command, _) = reader.next_command().unwrap().unwrap();
        assert_eq!(
            command,
            SimpleCommand {
                words: vec!["echo".to_owned(), "0".to_owned()],
                output: Some("/proc/x".to_owned()),
                ..SimpleCommand::default()
            }
        );
        assert_eq!(words("run &> /dev/null 2>/dev/null"), ["run"]);
    }

    #[test]
    fn the_rest_of_the_language_is_unsupported() {
        for text in ["a | b", "if true; then x; fi", "echo $(date)", "(a)", "echo 'x", "f() { x; }"]
        {
            assert!(matches!(commands(text), Err(Stop::Unsupported(_))), "{text}");
        }
    }
}
