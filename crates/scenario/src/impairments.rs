//! Impairments of a link in a scenario: a table, or the syntax of netem.

use crate::named_file::{Recordings, unread};
use fairwind_qdisc::tc::Netem;
use fairwind_qdisc::{
    Chance, DelayStep, Fault, Impairments, Jitter, JitterDistribution, Loss, NetemText, Reorder,
    Slot,
};
use fairwind_units::{Ratio, Span};
use serde::{Deserialize, Serialize};

/// Impairments of a link: a table, or the arguments of netem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum ImpairmentsInput {
    /// The arguments of netem.
    Text(NetemText),
    /// One key for each kind.
    Table(Box<ImpairmentsTable>),
}

/// Impairments of a link, after its queue and its transmitter: one key for each kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Impairments")]
pub struct ImpairmentsTable {
    /// Delay beyond the link's own, which packets that overtake do not wait for.
    pub delay: Option<Span>,
    /// Delay that varies around the link's own.
    pub jitter: Option<JitterInput>,
    /// Delay beyond the link's own that changes with time, as with moving satellites: steps that repeat after the last
    /// one.
    pub delay_steps: Option<Vec<DelayStep>>,
    /// Which packets are lost.
    pub loss: Option<LossInput>,
    /// Packets that arrive twice.
    pub duplicate: Option<Chance>,
    /// Packets that arrive with a wrong bit.
    pub corrupt: Option<Chance>,
    /// Packets that skip the delay given here, and so overtake others.
    pub reorder: Option<Reorder>,
    /// Periods without deliveries; at the end of each, all packets that waited are delivered at once.
    pub slot: Option<Slot>,
}

/// Delay that varies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Jitter")]
pub struct JitterInput {
    /// Half of the width for `uniform`, else the standard deviation.
    pub deviation: Span,
    /// Distribution; default: `uniform`, or `table` if a table is given.
    pub distribution: Option<JitterDistribution>,
    /// Quantiles at equal distances, in deviations from the mean times 8192, as in netem's tables.
    pub table: Option<Vec<i32>>,
    /// Instead of the table: name of a file with one as netem's are written (`.dist`), relative to the scenario's folder:
    /// numbers separated by blanks, and comments from `#` to the end of the line.
    pub file: Option<String>,
    /// Correlation of each draw with the previous one.
    #[serde(default)]
    pub correlation: Ratio,
    /// Whether packets leave in order, later ones waiting for earlier ones.
    #[serde(default)]
    pub keep_order: bool,
}

/// Which packets are lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Loss")]
pub enum LossInput {
    /// Independent losses, or losses correlated with the previous draw.
    Random {
        /// How many packets are lost.
        probability: Ratio,
        /// Correlation of each draw with the previous one.
        #[serde(default)]
        correlation: Ratio,
    },
    /// Two states with different loss probabilities (Gilbert and Elliott); the probabilities are those of netem's
    /// `gemodel`.
    Gemodel {
        /// From the good state to the bad one, per packet.
        p: Ratio,
        /// From the bad state to the good one, per packet.
        r: Ratio,
        /// Loss in the bad state (netem's `1-h`).
        bad_loss: Ratio,
        /// Loss in the good state (netem's `1-k`).
        good_loss: Ratio,
    },
    /// Four states (Salsano, Ludovici, Ordine and Giannuzzi, 2012); the probabilities are those of netem's `state`. State
    /// 1 delivers, 2 delivers within a burst of losses, 3 loses within a burst, 4 loses a single packet.
    State {
        /// From state 1 into a burst, per packet.
        p13: Ratio,
        /// From a loss within a burst out of it, per packet; default: `1 - p13`.
        p31: Option<Ratio>,
        /// From a loss within a burst to a delivery within it, per packet; default: 0 %.
        p32: Option<Ratio>,
        /// From a delivery within a burst to a loss within it, per packet; default: 100 %.
        p23: Option<Ratio>,
        /// From state 1 to a single loss, per packet; default: 0 %.
        p14: Option<Ratio>,
    },
    /// A recorded sequence of losses; it repeats at its end.
    Recorded {
        /// One for each packet: `true` for one that is lost.
        lost: Option<Vec<bool>>,
        /// Instead of that: name of a file with a 1 for each packet that is lost and a 0 for each that is not, relative to
        /// the scenario's folder; blanks, line breaks and comments from `#` on are ignored.
        file: Option<String>,
    },
    /// Some packets by their numbers, each once. Copies that `duplicate` makes are counted as well, and of a packet and
    /// its copy only one is lost.
    Packets {
        /// In the order in which packets leave the link, from 1, rising.
        numbers: Vec<u64>,
    },
}

impl ImpairmentsInput {
    /// Delay beyond the link's own.
    pub(crate) fn delay(&self) -> Span {
        match self {
            Self::Text(text) => text.delay(),
            Self::Table(table) => table.delay.unwrap_or_default(),
        }
    }

    /// Delay beyond the link's own, and everything else; and the errors below `key`.
    pub(crate) fn resolve(&self, recordings: &Recordings, key: &str) -> (Netem, Vec<Fault>) {
        let mut faults = Vec::new();
        let netem = match self {
            Self::Text(text) => text.netem(),
            Self::Table(table) => {
                let impairments = table.resolve(recordings, key, &mut faults);
                Netem { delay: table.delay.unwrap_or_default(), impairments }
            }
        };
        if faults.is_empty() {
            faults.extend(netem.impairments.errors().into_iter().map(|error| {
                let key = format!("{key}.{}", error.key);
                Fault { key, rule: error.rule.to_owned(), hint: None }
            }));
        }
        (netem, faults)
    }
}

impl ImpairmentsTable {
    fn resolve(&self, recordings: &Recordings, key: &str, faults: &mut Vec<Fault>) -> Impairments {
        let jitter = self.jitter.as_ref();
        let loss = self.loss.as_ref();
        Impairments {
            // The rest is unchanged: without overtaking, a link has one delay.
            delay: self.reorder.and(self.delay).unwrap_or_default(),
            jitter: jitter
                .map(|jitter| jitter.resolve(recordings, &format!("{key}.jitter"), faults)),
            delay_steps: self.delay_steps.clone().unwrap_or_default(),
            loss: loss.map(|loss| loss.resolve(recordings, &format!("{key}.loss"), faults)),
            duplicate: self.duplicate,
            corrupt: self.corrupt,
            reorder: self.reorder,
            slot: self.slot,
        }
    }
}

impl JitterInput {
    fn resolve(&self, recordings: &Recordings, key: &str, faults: &mut Vec<Fault>) -> Jitter {
        let has_table = self.table.is_some() || self.file.is_some();
        let usual = if has_table { JitterDistribution::Table } else { JitterDistribution::Uniform };
        let distribution = self.distribution.unwrap_or(usual);
        let file_key = format!("{key}.file");
        if self.file.is_some() && distribution != JitterDistribution::Table {
            let rule = "quantiles belong to distribution = \"table\"".to_owned();
            faults.push(Fault { key: file_key.clone(), rule, hint: None });
        }
        let read = |file: &str| recordings.delays(file);
        let table = one_of((self.table.as_ref(), "table"), self.file.as_deref(), read, key, faults);
        Jitter {
            deviation: self.deviation,
            distribution,
            table: table.unwrap_or_default(),
            correlation: self.correlation,
            keep_order: self.keep_order,
        }
    }
}

impl LossInput {
    fn resolve(&self, recordings: &Recordings, key: &str, faults: &mut Vec<Fault>) -> Loss {
        match self {
            &Self::Random { probability, correlation } => Loss::Random { probability, correlation },
            &Self::Gemodel { p, r, bad_loss, good_loss } => {
                Loss::Gemodel { p, r, bad_loss, good_loss }
            }
            &Self::State { p13, p31, p32, p23, p14 } => {
                Loss::four_states(p13, [p31, p32, p23, p14])
            }
            Self::Recorded { lost, file } => {
                let read = |file: &str| recordings.losses(file);
                let lost = one_of((lost.as_ref(), "lost"), file.as_deref(), read, key, faults);
                Loss::Recorded { lost: lost.unwrap_or_default() }
            }
            Self::Packets { numbers } => Loss::Packets { numbers: numbers.clone() },
        }
    }
}

/// The inline value, or else the content of the file; faults if both are given, or if the file was not read.
fn one_of<T: Clone>(
    (written, name): (Option<&T>, &str),
    file: Option<&str>,
    read: impl Fn(&str) -> Option<T>,
    key: &str,
    faults: &mut Vec<Fault>,
) -> Option<T> {
    let (Some(file), file_key) = (file, format!("{key}.file")) else { return written.cloned() };
    if written.is_some() {
        let (rule, hint) =
            (format!("there is {name} already"), format!("write {name} or file, not both"));
        faults.push(Fault { key: file_key, rule, hint: Some(hint) });
        return None;
    }
    let found = read(file);
    if found.is_none() {
        faults.push(unread(&file_key));
    }
    found
}
