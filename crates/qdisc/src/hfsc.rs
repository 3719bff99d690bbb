//! Hierarchical fair service curve: its rate, and how a scenario's description of it is resolved.
//!
//! Sources: I. Stoica, H. Zhang and T. S. E. Ng, "A hierarchical fair service curve algorithm for link-sharing, real-time
//! and priority services", SIGCOMM 1997; tc-hfsc(7).

use crate::input::{HfscClassInput, HfscInput};
use crate::limit::Resolver;
use crate::qdisc::{Hfsc, HfscClass, Qdisc};
use crate::service_curve::ServiceCurveInput;
use fairwind_units::BitRate;

impl Hfsc {
    /// The rate that nothing exceeds for long behind it; `None` where a class has no upper limit. Real-time curves are
    /// served beyond it.
    pub(crate) fn shaped_rate(&self) -> Option<BitRate> {
        let roots = (0..self.classes.len()).filter(|place| self.classes[*place].parent.is_none());
        let mut whole = 0_u64;
        for place in roots {
            let class = &self.classes[place];
            let certain = self.certain(place);
            let shared = match (&class.link_sharing, &class.upper_limit) {
                (None, _) => 0,
                (Some(_), Some(limit)) => limit.m2.as_bits_per_second(),
                (Some(_), None) => return None,
            };
            whole = whole.saturating_add(certain.max(shared));
        }
        (whole > 0).then(|| BitRate::from_bits_per_second(whole))
    }

    /// The most that the class at `place` gets in the long run; `None` where no curve says it.
    pub(crate) fn most(&self, place: usize) -> Option<BitRate> {
        let certain = BitRate::from_bits_per_second(self.certain(place));
        if self.classes[place].link_sharing.is_none() {
            return Some(certain);
        }
        let above = |place: &usize| self.classes[*place].parent.filter(|parent| parent < place);
        let limits = std::iter::successors(Some(place), above)
            .filter_map(|place| Some(self.classes[place].upper_limit?.m2));
        limits.min().map(|limit| limit.max(certain))
    }

    /// Bits per second of the real-time curves of the leaves below `place`, or of itself, in the long run.
    fn certain(&self, place: usize) -> u64 {
        let children =
            (place + 1..self.classes.len()).filter(|c| self.classes[*c].parent == Some(place));
        let below = children.map(|child| self.certain(child)).fold(0, u64::saturating_add);
        let class = &self.classes[place];
        let own = class.real_time.as_ref().filter(|_| class.child.is_some());
        own.map_or(below, |curve| curve.m2.as_bits_per_second())
    }
}

impl HfscInput {
    /// The key that was written for `key` of the resolved discipline: a curve may be a rate, a delay, or `sc`.
    pub fn written_key(&self, key: &str) -> String {
        self.curve_key(key).unwrap_or_else(|| key.to_owned())
    }

    fn curve_key(&self, key: &str) -> Option<String> {
        let (index, rest) = key.strip_prefix("classes[")?.split_once("].")?;
        let class = self.classes.get(index.parse::<usize>().ok()?)?;
        let (curve, part) = rest.split_once('.').map_or((rest, None), |(c, part)| (c, Some(part)));
        let is_shared = ["rt", "ls"].contains(&curve) && class.curve(curve).is_none();
        let curve = if is_shared && class.sc.is_some() { "sc" } else { curve };
        let part = part.and_then(|part| class.curve(curve)?.written_part(part));
        let part = part.map_or_else(String::new, |part| format!(".{part}"));
        Some(format!("classes[{index}].{curve}{part}"))
    }

    pub(crate) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let name = |(index, class): (usize, &HfscClassInput)| {
            class.name.clone().unwrap_or_else(|| format!("1:{:x}", index + 1))
        };
        let names: Vec<String> = self.classes.iter().enumerate().map(name).collect();
        let mut hfsc = Hfsc::default();
        for (index, class) in self.classes.iter().enumerate() {
            let is_inner = self.classes.iter().any(|c| c.parent.as_ref() == Some(&names[index]));
            hfsc.classes.push(class.resolve(index, &names, resolver));
            if is_inner && class.child.is_none() {
                continue;
            }
            // What only real-time service empties is a leaf, whose queue is not known yet.
            hfsc.classes[index].child = Some(Qdisc::default());
            let (key, child) = (format!("classes[{index}].child"), class.child.as_ref());
            hfsc.classes[index].child = Some(match hfsc.most(index) {
                Some(most) => resolver.shaped_to(most).child_or_pfifo(&key, child),
                None => resolver.child_or_pfifo(&key, child),
            });
        }
        if let Some(name) = &self.default {
            hfsc.default_class = resolver.class("default", name, &names);
        }
        Qdisc::Hfsc(hfsc)
    }
}

impl HfscClassInput {
    fn resolve(&self, index: usize, names: &[String], resolver: &mut Resolver<'_>) -> HfscClass {
        let key = |name: &str| format!("classes[{index}].{name}");
        let mut curve = |name: &str, input: Option<ServiceCurveInput>| {
            let curve = input?.curve();
            curve.map_err(|rule| resolver.fault(&key(name), rule.to_owned(), None)).ok()
        };
        let both = curve("sc", self.sc);
        let [real_time, link_sharing, upper_limit] =
            [("rt", self.rt), ("ls", self.ls), ("ul", self.ul)].map(|(name, i)| curve(name, i));
        if self.sc.is_some() && (self.rt.is_some() || self.ls.is_some()) {
            let rule = "it sets rt and ls, of which one is set already".to_owned();
            resolver.fault(&key("sc"), rule, None);
        }
        let parent = self.parent.as_ref();
        HfscClass {
            name: names[index].clone(),
            parent: parent.and_then(|parent| resolver.class(&key("parent"), parent, names)),
            real_time: real_time.or(both),
            link_sharing: link_sharing.or(both),
            upper_limit,
            filters: self.filters.clone(),
            child: None,
        }
    }

    fn curve(&self, key: &str) -> Option<ServiceCurveInput> {
        match key {
            "rt" => self.rt,
            "ls" => self.ls,
            "ul" => self.ul,
            _ => self.sc,
        }
    }
}
