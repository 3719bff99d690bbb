//! What is wrong with a tree of disciplines, and what is odd about it.

mod classes;
mod early;
mod fair;
mod odd;

use crate::Qdisc;
use fairwind_units::{BitRate, Span};
use std::fmt;

/// Something wrong or odd, and where: the key as scenarios and `tc` call it, below the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QdiscFinding {
    /// `bands[1].limit`; empty for the discipline itself.
    pub key: String,
    /// The rule that is broken, or what is odd.
    pub rule: String,
}

impl fmt::Display for QdiscFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.as_str() {
            "" => write!(f, "{}", self.rule),
            key => write!(f, "{key}: {}", self.rule),
        }
    }
}

impl Qdisc {
    /// Everything that is wrong; nothing where a discipline can be built of it.
    pub fn errors(&self) -> Vec<QdiscFinding> {
        let mut check = Check { key: String::new(), findings: Vec::new() };
        check.queue(self);
        check.findings
    }

    /// What can be built and will surprise, before a link of this rate with packets of up to `mtu_bytes`.
    pub fn warnings(&self, link: Option<BitRate>, mtu_bytes: u64) -> Vec<QdiscFinding> {
        odd::warnings(self, link, mtu_bytes)
    }
}

/// A tree while it is checked.
struct Check {
    /// Where it stands, with a dot behind it; empty at the root.
    key: String,
    findings: Vec<QdiscFinding>,
}

impl Check {
    /// Notes that `key` breaks a rule where it does not hold.
    fn hold(&mut self, holds: bool, key: &str, rule: &str) {
        if !holds {
            let key = format!("{}{key}", self.key);
            self.findings.push(QdiscFinding { key, rule: rule.to_owned() });
        }
    }

    fn limit(&mut self, limit: u64) {
        self.hold(limit > 0, "limit", "a queue holds one packet or more");
    }

    fn quantum(&mut self, quantum: u32) {
        self.hold(quantum > 0, "quantum", "in its turn a flow or class sends one byte or more");
    }

    fn time(&mut self, key: &str, time: Span) {
        self.hold(!time.is_zero(), key, "it is longer than no time");
    }

    fn rate(&mut self, key: &str, rate: BitRate) {
        self.hold(rate.as_bits_per_second() > 0, key, "nothing would pass at a rate of zero");
    }

    /// Checks what is below, at `key`.
    fn child(&mut self, key: &str, queue: &Qdisc) {
        let longer = format!("{}{key}.", self.key);
        let before = std::mem::replace(&mut self.key, longer);
        self.queue(queue);
        self.key = before;
    }

    fn queue(&mut self, queue: &Qdisc) {
        match queue {
            Qdisc::Unlimited {} => {}
            Qdisc::Pfifo { limit_packets } => self.limit(u64::from(*limit_packets)),
            Qdisc::Bfifo { limit_bytes } => self.limit(*limit_bytes),
            Qdisc::Red(red) => self.red(red),
            Qdisc::Choke(choke) => self.choke(choke),
            Qdisc::Codel(codel) => self.codel(codel),
            Qdisc::Pie(pie) => self.pie(pie),
            Qdisc::Dualpi2(dualpi2) => self.dualpi2(dualpi2),
            Qdisc::Sfq(sfq) => self.sfq(sfq),
            Qdisc::FqCodel(fair) => self.fq_codel(fair),
            Qdisc::FqPie(fair) => self.fq_pie(fair),
            Qdisc::Cake(cake) => self.cake(cake),
            Qdisc::Drr(drr) => self.drr(drr),
            Qdisc::Prio(prio) => self.prio(prio),
            Qdisc::Tbf(tbf) => self.tbf(tbf),
            Qdisc::Htb(htb) => self.htb(htb),
        }
    }
}
