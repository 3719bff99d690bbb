//! Numbers in filters: operators, bytes of headers, names of constants.

use super::{MOST_OPERATORS, Parser};
use crate::filter::expression::{Comparison, Number, Operator, Protocol};
use crate::filter::scanner;
use crate::filter::scanner::{FilterError, FilterProblem, Scanner, shortened};

impl Parser<'_> {
    /// A number with all operators that follow.
    pub(super) fn number(&mut self) -> Result<Number, FilterError> {
        let first = self.operand()?;
        self.operators_behind(first, 0)
    }

    /// A number and the operators behind it that bind more strongly than `least`.
    pub(super) fn operators_behind(
        &mut self,
        first: Number,
        least: u8,
    ) -> Result<Number, FilterError> {
        let mut left = first;
        while let Some((symbol, operator, strength)) = operator_at(&self.scanner)
            && strength > least
        {
            self.count_operator()?;
            self.scanner.take(symbol.len());
            let behind = self.scanner;
            let operand = self.operand()?;
            let right = self.operators_behind(operand, strength)?;
            if let Number::Constant(right) = right {
                check_operand(operator, right, &behind)?;
            }
            left = Number::Pair(Box::new((left, operator, right)));
        }
        Ok(left)
    }

    fn count_operator(&mut self) -> Result<(), FilterError> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            let most = MOST_OPERATORS;
            return Err(self.scanner.error(FilterProblem::TooManyOperators { most }));
        }
        Ok(())
    }

    /// A number without operators but signs.
    fn operand(&mut self) -> Result<Number, FilterError> {
        if self.scanner.take_symbol("-") {
            self.count_operator()?;
            return Ok(Number::Negative(Box::new(self.operand()?)));
        }
        if self.scanner.take_symbol("(") {
            self.go_deeper()?;
            let number = self.number()?;
            self.depth -= 1;
            self.close(")", "an operator or `)`")?;
            return Ok(number);
        }
        let digits = self.scanner.letters_and_digits();
        if digits.starts_with(|c: char| c.is_ascii_digit()) {
            return self.number_up_to("a number", u32::MAX).map(Number::Constant);
        }
        if let Some(protocol) = Protocol::named(digits) {
            let mut behind = self.scanner;
            behind.take(digits.len());
            if behind.take_symbol("[") {
                self.scanner = behind;
                return self.bytes_of(protocol);
            }
        }
        let (name, number) = self.named_number().ok_or_else(|| {
            self.scanner.expected("a number, `len`, or bytes of the packet such as `tcp[13]`")
        })?;
        self.scanner.take(name.len());
        Ok(number)
    }

    /// The number of the name that stands next. Names have hyphens, which can also be signs behind a name: the
    /// longest that is one counts.
    fn named_number(&self) -> Option<(&str, Number)> {
        let mut name = self.scanner.name();
        loop {
            if name == "len" {
                return Some((name, Number::Length));
            }
            if let Some(value) = scanner::constant(name) {
                return Some((name, Number::Constant(value)));
            }
            name = name.rsplit_once('-')?.0;
        }
    }

    /// Bytes of a header, behind the bracket.
    fn bytes_of(&mut self, of: Protocol) -> Result<Number, FilterError> {
        self.go_deeper()?;
        let at = Box::new(self.number()?);
        self.depth -= 1;
        let mut size = 1;
        if self.scanner.take_symbol(":") {
            let wrong = self.scanner.expected("1, 2 or 4 bytes");
            size = match self.number_up_to("a number", u32::MAX)? {
                1 => 1,
                2 => 2,
                4 => 4,
                _ => return Err(wrong),
            };
        }
        self.close("]", "`:` and a size, or `]`")?;
        Ok(Number::Bytes { of, at, size })
    }

    fn close(&mut self, symbol: &str, expected: &'static str) -> Result<(), FilterError> {
        if self.scanner.take_symbol(symbol) { Ok(()) } else { Err(self.scanner.expected(expected)) }
    }

    /// Whether what stands next begins a number.
    pub(super) fn is_at_number(&self) -> bool {
        let is_signed = self.scanner.rest().starts_with('-');
        is_signed || self.named_number().is_some() || self.is_at_figures()
    }

    /// Whether digits stand next that an operator or a comparison makes a number, also behind parentheses.
    fn is_at_figures(&self) -> bool {
        let digits = self.scanner.letters_and_digits();
        let mut behind = self.scanner;
        behind.take(digits.len());
        while behind.take_symbol(")") {}
        let goes_on = operator_at(&behind).is_some()
            || Comparison::ALL.iter().any(|(symbol, _)| behind.rest().starts_with(symbol));
        goes_on && figures(digits).is_some()
    }

    /// Takes a number in figures: decimal, octal with a leading `0`, hexadecimal with a leading `0x`.
    pub(super) fn number_up_to(
        &mut self,
        what: &'static str,
        most: u32,
    ) -> Result<u32, FilterError> {
        let digits = self.scanner.letters_and_digits();
        let expected = || self.scanner.expected("a number");
        let number = figures(digits).ok_or_else(expected)?;
        let fitting = u32::try_from(number).ok().filter(|number| *number <= most);
        let fitting = fitting.ok_or_else(|| {
            let number = shortened(digits);
            self.scanner.error(FilterProblem::TooGreat { what, number, most })
        })?;
        self.scanner.take(digits.len());
        Ok(fitting)
    }
}

/// The operator that stands next, which stays, and how strongly it binds.
fn operator_at(scanner: &Scanner<'_>) -> Option<(&'static str, Operator, u8)> {
    let rest = scanner.rest();
    if rest.starts_with("&&") || rest.starts_with("||") {
        return None;
    }
    Operator::ALL.into_iter().find(|(symbol, _, _)| rest.starts_with(symbol))
}

/// Refuses constants that an operator makes no sense with.
fn check_operand(operator: Operator, right: u32, at: &Scanner<'_>) -> Result<(), FilterError> {
    match operator {
        Operator::DividedBy | Operator::Remainder if right == 0 => {
            Err(at.error(FilterProblem::DivisionByZero))
        }
        Operator::ShiftLeft | Operator::ShiftRight if right > 31 => {
            let (what, number) = ("a shift", right.to_string());
            Err(at.error(FilterProblem::TooGreat { what, number, most: 31 }))
        }
        _ => Ok(()),
    }
}

/// The value of digits; it saturates at 64 bits.
pub(super) fn figures(text: &str) -> Option<u64> {
    let (digits, base) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    is_number.then(|| u64::from_str_radix(digits, base).unwrap_or(u64::MAX))
}
