//! Rules of shapers and of schedulers with classes.

use super::Check;
use crate::{Drr, Filter, Htb, HtbClass, Prio, Tbf};

/// Bands that the kernel's prio has (tc-prio(8)).
const BANDS: std::ops::RangeInclusive<usize> = 2..=16;

/// Levels below an htb that the kernel tells apart.
const LEVELS: usize = 8;

/// Code points (RFC 2474).
const LARGEST_CODE_POINT: u8 = 63;

impl Check {
    pub(super) fn prio(&mut self, prio: &Prio) {
        let bands = prio.bands.len();
        self.hold(BANDS.contains(&bands), "bands", "there are 2 to 16 bands");
        let beyond = format!("there are {bands} bands, counted from 0");
        for band in prio.priomap {
            if usize::from(band) >= bands && BANDS.contains(&bands) {
                self.hold(false, "priomap", &beyond);
                break;
            }
        }
        for (index, (filter, band)) in prio.filters.iter().enumerate() {
            let key = format!("filters[{index}]");
            self.hold(usize::from(*band) < bands, &format!("{key}.band"), &beyond);
            self.filter(&format!("{key}.match"), filter);
        }
        for (index, band) in prio.bands.iter().enumerate() {
            self.child(&format!("bands[{index}]"), band);
        }
    }

    pub(super) fn drr(&mut self, drr: &Drr) {
        self.hold(!drr.classes.is_empty(), "classes", "without a class everything is dropped");
        for (index, class) in drr.classes.iter().enumerate() {
            let key = format!("classes[{index}]");
            let quantum = format!("{key}.quantum");
            self.hold(
                class.quantum_bytes > 0,
                &quantum,
                "in its turn a class sends one byte or more",
            );
            self.filters(&key, &class.filters);
            self.child(&format!("{key}.child"), &class.child);
        }
        let for_the_rest = |class: &&crate::DrrClass| class.filters.is_empty();
        let is_one = drr.classes.iter().filter(for_the_rest).count() <= 1;
        self.hold(
            is_one,
            "classes",
            "only one class takes what no other takes; give the others filters",
        );
    }

    pub(super) fn tbf(&mut self, tbf: &Tbf) {
        self.rate("rate", tbf.rate);
        self.hold(tbf.burst_bytes > 0, "burst", "without a burst no packet ever leaves");
        self.limit(tbf.limit_bytes);
        if let Some(peak) = tbf.peak_rate {
            let rule = format!(
                "the peakrate {peak} is not above the rate {}: raise it, or leave it out",
                tbf.rate
            );
            self.hold(peak > tbf.rate, "peakrate", &rule);
        }
        self.hold(tbf.mtu_bytes != Some(0), "mtu", "a packet has one byte or more");
        if let Some(child) = &tbf.child {
            self.child("child", child);
        }
    }

    pub(super) fn htb(&mut self, htb: &Htb) {
        self.hold(!htb.classes.is_empty(), "classes", "an htb without a class shapes nothing");
        self.hold(htb.rate_to_quantum > 0, "r2q", "rates are divided by it: 1 or more");
        let is_parent = |index: usize| htb.classes.iter().any(|class| class.parent == Some(index));
        for (index, class) in htb.classes.iter().enumerate() {
            self.htb_class(htb, index, class, is_parent(index));
        }
        if let Some(index) = htb.default_class {
            let exists = index < htb.classes.len();
            self.hold(
                exists,
                "default",
                "there is no such class: name one of those that there are",
            );
            let is_leaf = !exists || !is_parent(index);
            let rule = "the default class has classes below it, and packets wait only in one that has none: name one of those";
            self.hold(is_leaf, "default", rule);
        }
    }

    fn htb_class(&mut self, htb: &Htb, index: usize, class: &HtbClass, is_parent: bool) {
        let key = |name: &str| format!("classes[{index}].{name}");
        self.rate(&key("rate"), class.rate);
        let rule = format!(
            "the ceil {} is below the rate {}: raise it, or leave it out",
            class.ceil, class.rate
        );
        self.hold(class.ceil >= class.rate, &key("ceil"), &rule);
        self.hold(class.priority <= 7, &key("prio"), "it is 7 at most");
        self.hold(
            class.quantum_bytes > 0,
            &key("quantum"),
            "in its turn a class sends one byte or more",
        );
        self.hold(class.burst_bytes > 0, &key("burst"), "without a burst no packet ever leaves");
        self.hold(
            class.ceil_burst_bytes > 0,
            &key("cburst"),
            "without a burst no packet ever leaves",
        );
        let comes_later = class.parent.is_some_and(|parent| parent >= index);
        self.hold(!comes_later, &key("parent"), "parents come before their children");
        if !comes_later {
            let next = |parent: &usize| htb.classes.get(*parent).and_then(|class| class.parent);
            let above = std::iter::successors(class.parent, next);
            self.hold(
                above.take(LEVELS).count() < LEVELS,
                &key("parent"),
                "there are at most 8 levels",
            );
        }
        if is_parent {
            let inner = "a class with classes below holds no packets";
            self.hold(class.child.is_none(), &key("child"), inner);
            self.hold(class.filters.is_empty(), &key("filters"), inner);
        } else {
            let leaf = "a class without classes below holds packets, and needs a queue for them";
            self.hold(class.child.is_some(), &key("child"), leaf);
        }
        self.filters(&format!("classes[{index}]"), &class.filters);
        if let Some(child) = &class.child {
            self.child(&key("child"), child);
        }
    }

    fn filters(&mut self, key: &str, filters: &[Filter]) {
        for (index, filter) in filters.iter().enumerate() {
            self.filter(&format!("{key}.filters[{index}]"), filter);
        }
    }

    fn filter(&mut self, key: &str, filter: &Filter) {
        let is_point = filter.dscp.is_none_or(|point| point <= LARGEST_CODE_POINT);
        self.hold(is_point, &format!("{key}.dscp"), "code points are 0 to 63");
    }
}
