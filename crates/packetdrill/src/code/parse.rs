//! Lexer and parser of embedded code.

use crate::outcome::{Step, Stop};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement {
    Assert {
        condition: Formula,
        message: Option<Formula>,
        text: String,
    },
    Assign {
        name: String,
        value: Formula,
    },
    /// An expression statement, such as `print(...)`.
    Evaluate(Formula),
    /// `if CONDITION: STATEMENT`, in one line.
    If {
        condition: Formula,
        then: Box<Statement>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Formula {
    Number(i64),
    Real(f64),
    Text(String),
    Name(String),
    Tuple(Vec<Formula>),
    Call(String, Vec<Formula>),
    Negative(Box<Formula>),
    /// `~number`
    Inverted(Box<Formula>),
    /// `yes if condition else no`
    Choice {
        condition: Box<Formula>,
        yes: Box<Formula>,
        no: Box<Formula>,
    },
    Not(Box<Formula>),
    /// Operands of `and` and `or`; `and` binds closer than `or`.
    And(Vec<Formula>),
    Or(Vec<Formula>),
    /// `first < second <= third`
    Comparison(Box<Formula>, Vec<(&'static str, Formula)>),
    /// `first + second - third`
    Chain(Box<Formula>, Vec<(&'static str, Formula)>),
}

/// Operators, weakest binding first.
const LEVELS: [&[&str]; 7] =
    [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "//", "%"], &["**"]];
const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
/// Deeper nesting than this is no assertion.
const MAX_DEPTH: u32 = 32;

pub(super) fn statements(code: &str) -> Step<Vec<Statement>> {
    words_of(code)?.iter().map(|words| statement(words)).collect()
}

fn statement(words: &[Word]) -> Step<Statement> {
    let text = words.iter().map(written).collect::<Vec<_>>().join(" ");
    let mut parser = Parser { words, next: 0, depth: 0, text: &text };
    let statement = match words {
        [Word::Name(name), Word::Sign("="), ..] => {
            parser.next = 2;
            Statement::Assign { name: name.clone(), value: parser.tuple()? }
        }
        [Word::Name(name), Word::Sign(sign), Word::Sign("="), ..] if is_operator(sign) => {
            parser.next = 3;
            let changed = (*sign, parser.tuple()?);
            let value = Formula::Chain(Box::new(Formula::Name(name.clone())), vec![changed]);
            Statement::Assign { name: name.clone(), value }
        }
        [Word::Name(name), ..] if name == "assert" => {
            parser.next = 1;
            let condition = parser.formula()?;
            let message = if parser.take(",") { Some(parser.formula()?) } else { None };
            Statement::Assert { condition, message, text: text.clone() }
        }
        [Word::Name(name), ..] if name == "if" => {
            parser.next = 1;
            let condition = parser.formula()?;
            if !parser.take(":") {
                return Err(parser.unknown_command());
            }
            let then = Box::new(statement(&words[parser.next..])?);
            parser.next = words.len();
            Statement::If { condition, then }
        }
        [Word::Name(name)] if name == "pass" || name == "print" => {
            parser.next = 1;
            Statement::Evaluate(Formula::Number(0))
        }
        [Word::Name(name), ..] if name == "print" => {
            parser.next = 1;
            Statement::Evaluate(parser.tuple()?)
        }
        _ => Statement::Evaluate(parser.formula()?),
    };
    if parser.next < words.len() {
        return Err(parser.unknown_command());
    }
    Ok(statement)
}

/// Whether an operator may precede `=`.
fn is_operator(sign: &str) -> bool {
    LEVELS.iter().any(|level| level.contains(&sign))
}

fn written(word: &Word) -> String {
    match word {
        Word::Number(number) => number.to_string(),
        Word::Real(number) => number.to_string(),
        Word::Text(text) => format!("\"{text}\""),
        Word::Name(name) => name.clone(),
        Word::Sign(sign) => (*sign).to_owned(),
    }
}

struct Parser<'a> {
    words: &'a [Word],
    next: usize,
    depth: u32,
    text: &'a str,
}

impl Parser<'_> {
    fn unknown_command(&self) -> Stop {
        Stop::unsupported(format!("code: `{}` is not understood", self.text))
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.words.get(self.next), Some(Word::Sign(next)) if *next == sign);
        self.next += usize::from(found);
        found
    }

    fn take_name(&mut self, name: &str) -> bool {
        let found = matches!(self.words.get(self.next), Some(Word::Name(next)) if next == name);
        self.next += usize::from(found);
        found
    }

    fn take_one_of(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        signs.iter().find(|sign| self.take(sign)).copied()
    }

    /// Formulas parted by commas: a tuple, or one formula alone.
    fn tuple(&mut self) -> Step<Formula> {
        self.series(Self::formula, |parser| parser.take(","), Formula::Tuple)
    }

    /// One formula alone, or several in a row, made into one by `joined`.
    fn series(
        &mut self,
        parse: fn(&mut Self) -> Step<Formula>,
        goes_on: fn(&mut Self) -> bool,
        joined: fn(Vec<Formula>) -> Formula,
    ) -> Step<Formula> {
        let mut members = vec![parse(self)?];
        while goes_on(self) {
            members.push(parse(self)?);
        }
        Ok(if members.len() == 1 { members.remove(0) } else { joined(members) })
    }

    fn formula(&mut self) -> Step<Formula> {
        let formula = self.disjunction()?;
        if !self.take_name("if") {
            return Ok(formula);
        }
        let condition = Box::new(self.disjunction()?);
        if !self.take_name("else") {
            return Err(self.unknown_command());
        }
        let no = Box::new(self.nested(Self::formula)?);
        Ok(Formula::Choice { condition, yes: Box::new(formula), no })
    }

    fn disjunction(&mut self) -> Step<Formula> {
        self.series(Self::conjunction, |parser| parser.take_name("or"), Formula::Or)
    }

    fn conjunction(&mut self) -> Step<Formula> {
        self.series(Self::negation, |parser| parser.take_name("and"), Formula::And)
    }

    fn negation(&mut self) -> Step<Formula> {
        let mut negations: u32 = 0;
        while self.take_name("not") {
            negations += 1;
        }
        let formula = self.comparison()?;
        Ok(match (negations, negations % 2) {
            (0, _) => formula,
            (_, 1) => Formula::Not(Box::new(formula)),
            // Double negation turns a number into a truth value.
            _ => Formula::Not(Box::new(Formula::Not(Box::new(formula)))),
        })
    }

    fn comparison(&mut self) -> Step<Formula> {
        let first = self.chain(0)?;
        let mut others = Vec::new();
        while let Some(sign) = self.comparison_sign() {
            others.push((sign, self.chain(0)?));
        }
        if others.is_empty() {
            return Ok(first);
        }
        Ok(Formula::Comparison(Box::new(first), others))
    }

    fn comparison_sign(&mut self) -> Option<&'static str> {
        if let Some(sign) = self.take_one_of(&COMPARISONS) {
            return Some(sign);
        }
        let name_at = |place: usize, name: &str| matches!(self.words.get(place), Some(Word::Name(found)) if found == name);
        if name_at(self.next, "not") && name_at(self.next + 1, "in") {
            self.next += 2;
            return Some("not in");
        }
        self.take_name("in").then_some("in")
    }

    fn chain(&mut self, level: usize) -> Step<Formula> {
        let Some(signs) = LEVELS.get(level) else { return self.single() };
        let first = self.chain(level + 1)?;
        let mut others = Vec::new();
        while let Some(sign) = self.take_one_of(signs) {
            others.push((sign, self.chain(level + 1)?));
        }
        if others.is_empty() {
            return Ok(first);
        }
        Ok(Formula::Chain(Box::new(first), others))
    }

    fn single(&mut self) -> Step<Formula> {
        self.nested(Self::single_below)
    }

    /// Parses a nested construct, within the depth limit.
    fn nested(&mut self, parse: fn(&mut Self) -> Step<Formula>) -> Step<Formula> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.unknown_command());
        }
        let formula = parse(self);
        self.depth -= 1;
        formula
    }

    fn single_below(&mut self) -> Step<Formula> {
        if self.take("-") {
            return Ok(Formula::Negative(Box::new(self.single()?)));
        }
        if self.take("+") {
            return self.single();
        }
        if self.take("~") {
            return Ok(Formula::Inverted(Box::new(self.single()?)));
        }
        if self.take("(") {
            let (mut members, is_tuple) = self.members(")")?;
            return Ok(if is_tuple { Formula::Tuple(members) } else { members.remove(0) });
        }
        if self.take("[") {
            return Ok(Formula::Tuple(self.members("]")?.0));
        }
        let word = self.words.get(self.next).cloned();
        self.next += usize::from(word.is_some());
        match word {
            Some(Word::Number(number)) => Ok(Formula::Number(number)),
            Some(Word::Real(number)) => Ok(Formula::Real(number)),
            Some(Word::Text(text)) => Ok(Formula::Text(text)),
            Some(Word::Name(name)) if self.take("(") => {
                Ok(Formula::Call(name, self.members(")")?.0))
            }
            Some(Word::Name(name)) => Ok(Formula::Name(name)),
            _ => Err(self.unknown_command()),
        }
    }

    /// Formulas up to a parenthesis, and whether they are a tuple: one alone is so with a comma.
    fn members(&mut self, close: &str) -> Step<(Vec<Formula>, bool)> {
        let mut members = Vec::new();
        let mut commas = 0_usize;
        while !self.take(close) {
            members.push(self.formula()?);
            if self.take(",") {
                commas += 1;
            } else if self.take(close) {
                break;
            } else {
                return Err(self.unknown_command());
            }
        }
        let is_tuple = commas > 0 || members.is_empty();
        Ok((members, is_tuple))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    Number(i64),
    Real(f64),
    Text(String),
    Name(String),
    /// An operator or parenthesis.
    Sign(&'static str),
}

/// Longer operators come before their prefixes.
const SIGNS: [&str; 26] = [
    "==", "!=", "<=", ">=", "<<", ">>", "//", "**", "<", ">", "=", "+", "-", "*", "/", "%", "(",
    ")", ",", "&", "|", "^", "~", "[", "]", ":",
];

/// Divides code into statements, and these into words. A statement ends with its line, unless a
/// parenthesis is open, or with `;`.
fn words_of(code: &str) -> Step<Vec<Vec<Word>>> {
    let mut statements = vec![Vec::new()];
    let mut depth = 0_i32;
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        if first == '\n' && depth <= 0 || first == ';' {
            statements.push(Vec::new());
        }
        if first.is_whitespace() || first == ';' || first == '\\' {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if first == '#' {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        let (word, length) = word(rest)?;
        match word {
            Word::Sign("(" | "[") => depth += 1,
            Word::Sign(")" | "]") => depth -= 1,
            _ => {}
        }
        statements.last_mut().expect("there is always a last statement").push(word);
        rest = &rest[length..];
    }
    statements.retain(|statement| !statement.is_empty());
    Ok(statements)
}

/// The first word and its length in bytes.
fn word(rest: &str) -> Step<(Word, usize)> {
    let first = rest.chars().next().unwrap_or(' ');
    if first == '"' || first == '\'' {
        let Some(length) = rest[1..].find(first) else {
            return Err(Stop::failed(format!("code: a text is not closed: {rest}")));
        };
        return Ok((Word::Text(rest[1..=length].to_owned()), length + 2));
    }
    if first.is_ascii_digit() || first == '.' {
        return number(rest);
    }
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let length = rest.find(|character| !is_name(character)).unwrap_or(rest.len());
    if length > 0 {
        return Ok((Word::Name(rest[..length].to_owned()), length));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(*sign)) {
        Some(sign) => Ok((Word::Sign(sign), sign.len())),
        None => Err(Stop::unsupported(format!("code: `{first}` is not understood"))),
    }
}

/// An integer or a float; `_` between digits and the suffix `L` of Python 2 are ignored.
fn number(rest: &str) -> Step<(Word, usize)> {
    let belongs = |character: char| character.is_ascii_alphanumeric() || "._".contains(character);
    let length = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
    let text = rest[..length].replace('_', "");
    let digits = text.strip_suffix('L').unwrap_or(&text);
    let word = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok().map(Word::Number),
        None if digits.contains(['.', 'e']) => digits.parse().ok().map(Word::Real),
        None => digits.parse().ok().map(Word::Number),
    };
    let word = word
        .ok_or_else(|| Stop::unsupported(format!("code: `{text}` is not a number of 64 bits")))?;
    Ok((word, length))
}
