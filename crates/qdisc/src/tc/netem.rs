//! netem: a discipline for `tc`, and impairments of a link here (tc-netem(8)).

use super::syntax::split_commands;
use super::words::{Place, TcError, Word, Words, advice, print_per_cent};
use crate::impair::rest_of;
use crate::{Chance, Impairments, Jitter, JitterDistribution, Loss, Reorder, Slot};
use fairwind_units::{Ratio, Span};

/// What netem adds to a link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Netem {
    /// Delay beyond the link's own.
    pub delay: Span,
    /// Everything else.
    pub impairments: Impairments,
}

const KEYS: [&str; 8] =
    ["delay", "distribution", "loss", "duplicate", "corrupt", "reorder", "gap", "slot"];

/// Reads what stands behind `tc qdisc add dev eth0 root`: `netem delay 50ms 5ms distribution normal loss 1%`.
///
/// # Errors
/// The first thing that is wrong, with its place.
///
/// ```
/// use fairwind_qdisc::tc;
/// let netem = tc::parse_netem("netem delay 50ms 5ms loss gemodel 1% 10%")?;
/// assert_eq!(netem.delay, "50 ms".parse()?);
/// assert!(netem.impairments.jitter.is_some() && netem.impairments.loss.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse_netem(text: &str) -> Result<Netem, TcError> {
    let begin = Place { line: 1, column: 1 };
    // A command, or the part after its root; earlier removed parts are ignored.
    let is_removal =
        |words: &Vec<Word<'_>>| words.iter().any(|word| ["del", "delete"].contains(&word.text));
    let mut commands: Vec<_> =
        split_commands(text).into_iter().filter(|c| !is_removal(c)).collect();
    if let Some(second) = commands.get(1) {
        return Err(second[0].place.error("a link has one netem; write its queue as queue"));
    }
    let words = commands.pop().unwrap_or_default();
    let mut words = Words::new(&words, begin);
    skip_command(&mut words)?;
    if words.value("netem")? != "netem" {
        return Err(words.wrong("impairments begin with netem: netem delay 50ms"));
    }
    words.subject = "netem";
    let mut netem = Netem::default();
    let mut gap = None;
    while let Some(key) = key(&mut words)? {
        match key {
            "delay" => delay(&mut netem, &mut words)?,
            "distribution" => distribution(&mut netem, &mut words)?,
            "loss" => netem.impairments.loss = Some(loss(&mut words)?),
            "duplicate" => netem.impairments.duplicate = Some(chance(&mut words)?),
            "corrupt" => netem.impairments.corrupt = Some(chance(&mut words)?),
            "reorder" => {
                let Chance { probability, correlation } = chance(&mut words)?;
                netem.impairments.reorder = Some(Reorder { probability, correlation, gap: 1 });
            }
            "gap" => gap = Some((words.count()?, words.last)),
            _ => netem.impairments.slot = Some(slot(&mut words)?),
        }
    }
    match (&mut netem.impairments.reorder, gap) {
        (Some(reorder), Some((gap, _))) => reorder.gap = gap,
        (None, Some((_, place))) => {
            return Err(place.error("gap belongs to reorder: reorder 25% gap 5"));
        }
        _ => {}
    }
    if netem.impairments.reorder.is_some() {
        netem.impairments.delay = netem.delay;
    }
    Ok(netem)
}

/// Passes over `tc qdisc add dev eth0 root handle 1:`.
fn skip_command(words: &mut Words<'_>) -> Result<(), TcError> {
    words.take("sudo");
    words.take("tc");
    if !words.take("qdisc") {
        return Ok(());
    }
    words.value("add")?;
    loop {
        if ["dev", "parent", "handle"].iter().any(|word| words.take(word)) {
            words.value("a name")?;
        } else if !words.take("root") {
            return Ok(());
        }
    }
}

/// The next key. Two of netem's belong to the link and the queue.
fn key(words: &mut Words<'_>) -> Result<Option<&'static str>, TcError> {
    let elsewhere = match words.peek() {
        Some("rate") => "the rate belongs to the link: write it as rate of the path or link",
        Some("limit") => "the limit belongs to the queue: write it as limit of the queue",
        _ => return words.option(&KEYS),
    };
    words.next();
    Err(words.wrong(elsewhere))
}

fn delay(netem: &mut Netem, words: &mut Words<'_>) -> Result<(), TcError> {
    netem.delay = words.time()?;
    if !follows(words) {
        return Ok(());
    }
    let deviation = words.time()?;
    let correlation = optional(words)?;
    netem.impairments.jitter = Some(Jitter {
        deviation,
        distribution: JitterDistribution::Uniform,
        table: Vec::new(),
        correlation: correlation.unwrap_or_default(),
        keep_order: false,
    });
    Ok(())
}

fn distribution(netem: &mut Netem, words: &mut Words<'_>) -> Result<(), TcError> {
    const KNOWN: [(&str, JitterDistribution); 4] = [
        ("uniform", JitterDistribution::Uniform),
        ("normal", JitterDistribution::Normal),
        ("pareto", JitterDistribution::Pareto),
        ("paretonormal", JitterDistribution::Paretonormal),
    ];
    let word = words.value("the name of a distribution")?;
    let Some((_, distribution)) = KNOWN.iter().find(|(name, _)| *name == word) else {
        let known = KNOWN.map(|(name, _)| name);
        return Err(
            words.wrong(format!("\"{word}\" is not a distribution; {}", advice(word, &known)))
        );
    };
    let missing = words.wrong("a distribution needs a jitter before it: delay 50ms 5ms");
    netem.impairments.jitter.as_mut().ok_or(missing)?.distribution = *distribution;
    Ok(())
}

fn loss(words: &mut Words<'_>) -> Result<Loss, TcError> {
    if words.take("state") {
        let p13 = words.per_cent()?;
        let mut others = [None; 4];
        for other in &mut others {
            *other = optional(words)?;
        }
        return Ok(Loss::four_states(p13, others));
    }
    if words.take("gemodel") {
        let p = words.per_cent()?;
        let r = optional(words)?.unwrap_or(rest_of(p));
        let bad_loss = optional(words)?.unwrap_or(Ratio::ONE);
        let good_loss = optional(words)?.unwrap_or_default();
        return Ok(Loss::Gemodel { p, r, bad_loss, good_loss });
    }
    words.take("random");
    let Chance { probability, correlation } = chance(words)?;
    Ok(Loss::Random { probability, correlation })
}

/// The words of netem that lose packets as `loss` does, each behind a blank; `None` for a record of losses, which netem
/// does not know.
pub fn print_loss(loss: &Loss) -> Option<String> {
    let (words, shares) = match *loss {
        Loss::Random { probability, correlation } => ("random", vec![probability, correlation]),
        Loss::Gemodel { p, r, bad_loss, good_loss } => ("gemodel", vec![p, r, bad_loss, good_loss]),
        Loss::State { p13, p31, p32, p23, p14 } => ("state", vec![p13, p31, p32, p23, p14]),
        Loss::Recorded { .. } | Loss::Packets { .. } => return None,
    };
    let shares: Vec<String> = shares.into_iter().map(print_per_cent).collect();
    Some(format!(" loss {words} {}", shares.join(" ")))
}

fn chance(words: &mut Words<'_>) -> Result<Chance, TcError> {
    let probability = words.per_cent()?;
    Ok(Chance { probability, correlation: optional(words)?.unwrap_or_default() })
}

fn slot(words: &mut Words<'_>) -> Result<Slot, TcError> {
    let min_delay = words.time()?;
    let max_delay = if follows(words) { words.time()? } else { min_delay };
    let mut slot = Slot { min_delay, max_delay, packets: None, bytes: None };
    loop {
        if words.take("packets") {
            slot.packets = Some(words.count()?);
        } else if words.take("bytes") {
            slot.bytes = Some(words.bytes()?);
        } else {
            return Ok(slot);
        }
    }
}

/// A share, where one follows.
fn optional(words: &mut Words<'_>) -> Result<Option<Ratio>, TcError> {
    if follows(words) { words.per_cent().map(Some) } else { Ok(None) }
}

/// Whether the next word is a number.
fn follows(words: &Words<'_>) -> bool {
    words.peek().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}
