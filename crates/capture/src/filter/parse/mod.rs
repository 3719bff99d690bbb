//! Parser of filters: tests joined by `and` and `or`, negated, in parentheses.

mod numbers;
mod values;

use super::expression::{
    Comparison, Connective, Expression, Number, Protocol, Relation, Side, Test,
};
use super::scanner;
use super::scanner::{FilterError, FilterProblem, Scanner, shortened};

/// Parentheses and negations may be within each other this deep.
const MOST_DEPTH: u32 = 100;
/// Bytes that a filter may have: some thousand addresses.
const MOST_BYTES: usize = 65_536;

/// Operators between numbers that a filter may have.
const MOST_OPERATORS: u32 = 1000;

/// State of the parser.
struct Parser<'a> {
    scanner: Scanner<'a>,
    /// The keywords of the test before, which an address or number without any takes over.
    last: Option<Qualifiers>,
    depth: u32,
    operators: u32,
}

/// The keywords before a value.
#[derive(Clone, Copy)]
struct Qualifiers {
    protocol: Option<Protocol>,
    side: Side,
    kind: Kind,
}

fn chained(first: Expression, rest: Vec<(Connective, Expression)>) -> Expression {
    if rest.is_empty() { first } else { Expression::Chain { first: Box::new(first), rest } }
}

fn negated(one: Expression, times: u32) -> Expression {
    (0..times).fold(one, |one, _| Expression::Not(Box::new(one)))
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Host,
    Net,
    Port,
    PortRange,
    Proto,
}

impl Kind {
    const ALL: [(&'static str, Self); 5] = [
        ("host", Self::Host),
        ("net", Self::Net),
        ("port", Self::Port),
        ("portrange", Self::PortRange),
        ("proto", Self::Proto),
    ];

    /// Its keyword, in quotes.
    const fn quoted(self) -> &'static str {
        match self {
            Self::Host => "`host`",
            Self::Net => "`net`",
            Self::Port => "`port`",
            Self::PortRange => "`portrange`",
            Self::Proto => "`proto`",
        }
    }

    /// Whether a protocol can stand before it.
    const fn goes_with(self, protocol: Protocol) -> bool {
        match self {
            Self::Host | Self::Net => {
                matches!(protocol, Protocol::Ip | Protocol::Ip6 | Protocol::Arp | Protocol::Rarp)
            }
            Self::Port | Self::PortRange => {
                matches!(protocol, Protocol::Tcp | Protocol::Udp | Protocol::Sctp)
            }
            Self::Proto => matches!(protocol, Protocol::Ip | Protocol::Ip6),
        }
    }
}

/// Reads a filter; `None` is the empty one.
pub(super) fn parse(text: &str) -> Result<Option<Expression>, FilterError> {
    let scanner = Scanner::new(text);
    if text.len() > MOST_BYTES {
        let (bytes, most) = (text.len(), MOST_BYTES);
        return Err(scanner.error(FilterProblem::TooLong { bytes, most }));
    }
    if scanner.is_at_end() {
        return Ok(None);
    }
    let mut parser = Parser { scanner, last: None, depth: 0, operators: 0 };
    let expression = match parser.chain(BareValue::Refused)? {
        Part::Whole(expression) => expression,
        Part::Number(_) => return Err(parser.scanner.expected("a comparison such as `=`")),
    };
    if parser.scanner.is_at_end() {
        Ok(Some(expression))
    } else {
        Err(parser.scanner.expected("`and`, `or` or the end"))
    }
}

/// What stands in parentheses is known only behind it.
enum Part {
    Whole(Expression),
    Number(Number),
}

/// Whether an address or a number can stand without keywords.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BareValue {
    Refused,
    /// Behind `and` or `or`.
    Allowed,
}

impl Parser<'_> {
    /// Terms joined by `and` and `or`, or one number.
    fn chain(&mut self, bare: BareValue) -> Result<Part, FilterError> {
        let first = match self.term(bare)? {
            Part::Whole(first) => first,
            number @ Part::Number(_) => return Ok(number),
        };
        let mut rest = Vec::new();
        while let Some(connective) = self.connective() {
            match self.term(BareValue::Allowed)? {
                Part::Whole(one) => rest.push((connective, one)),
                Part::Number(_) => return Err(self.scanner.expected("a comparison such as `=`")),
            }
        }
        Ok(Part::Whole(chained(first, rest)))
    }

    fn connective(&mut self) -> Option<Connective> {
        let scanner = &mut self.scanner;
        if scanner.take_word("and") || scanner.take_symbol("&&") {
            Some(Connective::And)
        } else if scanner.take_word("or") || scanner.take_symbol("||") {
            Some(Connective::Or)
        } else {
            None
        }
    }

    /// One term with the negations before it.
    fn term(&mut self, bare: BareValue) -> Result<Part, FilterError> {
        let depth = self.depth;
        let mut negations = 0_u32;
        while self.take_not() {
            self.go_deeper()?;
            negations += 1;
        }
        let part = self.parentheses_or_test(bare)?;
        self.depth = depth;
        match part {
            Part::Whole(one) => Ok(Part::Whole(negated(one, negations))),
            Part::Number(_) if negations > 0 => {
                Err(self.scanner.expected("a comparison such as `=`"))
            }
            number @ Part::Number(_) => Ok(number),
        }
    }

    fn take_not(&mut self) -> bool {
        let is_unequal = self.scanner.rest().starts_with("!=");
        self.scanner.take_word("not") || !is_unequal && self.scanner.take_symbol("!")
    }

    fn go_deeper(&mut self) -> Result<(), FilterError> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.scanner.error(FilterProblem::TooDeep { most: MOST_DEPTH }));
        }
        Ok(())
    }

    fn parentheses_or_test(&mut self, bare: BareValue) -> Result<Part, FilterError> {
        if !self.scanner.take_symbol("(") {
            return self.test(bare);
        }
        self.go_deeper()?;
        let inner = self.chain(bare)?;
        self.depth -= 1;
        if !self.scanner.take_symbol(")") {
            return Err(self.scanner.expected(match inner {
                Part::Whole(_) => "`and`, `or` or `)`",
                Part::Number(_) => "a comparison such as `=`, or `)`",
            }));
        }
        match inner {
            Part::Number(number) => {
                let number = self.operators_behind(number, 0)?;
                self.comparison_behind(number)
            }
            whole @ Part::Whole(_) => Ok(whole),
        }
    }

    /// A number, and its comparison if one follows.
    fn comparison_behind(&mut self, left: Number) -> Result<Part, FilterError> {
        let symbols = &mut Comparison::ALL.iter();
        let Some((_, comparison)) = symbols.find(|(symbol, _)| self.scanner.take_symbol(symbol))
        else {
            return Ok(Part::Number(left));
        };
        let right = self.number()?;
        let relation = Relation { left, comparison: *comparison, right };
        Ok(Part::Whole(Expression::Test(Test::Relation(relation))))
    }

    fn relation(&mut self) -> Result<Part, FilterError> {
        let left = self.number()?;
        self.comparison_behind(left)
    }

    /// One test; a number, if it is not one yet.
    fn test(&mut self, bare: BareValue) -> Result<Part, FilterError> {
        let run = self.scanner.run();
        if let Some(protocol) = Protocol::named(run) {
            return self.test_of_protocol(protocol, run);
        }
        match run {
            "src" | "dst" | "host" | "net" | "port" | "portrange" | "proto" => {
                return self.qualified(None).map(Part::Whole);
            }
            "vlan" => return self.vlan().map(Part::Whole),
            "less" => return self.length(Comparison::LessOrEqual).map(Part::Whole),
            "greater" => return self.length(Comparison::GreaterOrEqual).map(Part::Whole),
            "" => return Err(self.scanner.expected("a test such as `port 80`")),
            "and" | "or" | "mask" => {
                return Err(self.scanner.expected("a test such as `port 80`"));
            }
            _ => {}
        }
        if let (BareValue::Allowed, Some(last)) = (bare, self.last)
            && self.is_value(run, last)
        {
            return self.value(last).map(|test| Part::Whole(Expression::Test(test)));
        }
        if self.is_at_number() { self.relation() } else { Err(self.unknown(run)) }
    }

    /// A protocol by itself, before other keywords, or bytes of its header.
    fn test_of_protocol(&mut self, protocol: Protocol, name: &str) -> Result<Part, FilterError> {
        let before = self.scanner;
        self.scanner.take(name.len());
        if self.scanner.rest().starts_with('[') {
            self.scanner = before;
            return self.relation();
        }
        if protocol == Protocol::Link {
            return Err(before.error(FilterProblem::NotRead { word: protocol.name() }));
        }
        match self.scanner.run() {
            "src" | "dst" | "host" | "net" | "port" | "portrange" | "proto" => {
                self.qualified(Some((protocol, before))).map(Part::Whole)
            }
            _ => Ok(Part::Whole(Expression::Test(Test::Protocol(protocol)))),
        }
    }

    fn vlan(&mut self) -> Result<Expression, FilterError> {
        self.scanner.take("vlan".len());
        let is_number = self.scanner.run().starts_with(|c: char| c.is_ascii_digit());
        let id = if is_number { Some(self.number_up_to("a VLAN", 4095)?) } else { None };
        let id = id.map(|id| u16::try_from(id).unwrap_or(u16::MAX));
        Ok(Expression::Test(Test::Vlan(id)))
    }

    /// `less` and `greater`, which include equality.
    fn length(&mut self, comparison: Comparison) -> Result<Expression, FilterError> {
        self.scanner.take(self.scanner.run().len());
        let right = Number::Constant(self.number_up_to("a length", u32::MAX)?);
        let relation = Relation { left: Number::Length, comparison, right };
        Ok(Expression::Test(Test::Relation(relation)))
    }

    /// What to say of a run that begins no test.
    fn unknown(&self, run: &str) -> FilterError {
        let begins_address = run.starts_with(|c: char| c.is_ascii_digit() || c == ':');
        if begins_address || run.parse::<std::net::IpAddr>().is_ok() {
            return self.scanner.expected("a keyword such as `host`, `net` or `port` before it");
        }
        self.scanner.error(match scanner::not_read(run) {
            Some(word) => FilterProblem::NotRead { word },
            None => {
                FilterProblem::UnknownWord { word: shortened(run), nearest: scanner::nearest(run) }
            }
        })
    }
}
