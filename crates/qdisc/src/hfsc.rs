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
    pub(crate) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let name = |(index, class): (usize, &HfscClassInput)| {
            class.name.clone().unwrap_or_else(|| format!("1:{:x}", index + 1))
        };
        let names: Vec<String> = self.classes.iter().enumerate().map(name).collect();
        let mut hfsc = Hfsc::default();
        for (index, class) in self.classes.iter().enumerate() {
            let is_inner = self.classes.iter().any(|c| c.parent.as_ref() == Some(&names[index]));
            hfsc.classes.push(class.resolve(index, &names, is_inner, resolver));
        }
        if let Some(name) = &self.default {
            hfsc.default_class = resolver.class("default", name, &names);
        }
        Qdisc::Hfsc(hfsc)
    }
}

impl HfscClassInput {
    fn resolve(
        &self,
        index: usize,
        names: &[String],
        is_inner: bool,
        resolver: &mut Resolver<'_>,
    ) -> HfscClass {
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
        let mut class = HfscClass {
            name: names[index].clone(),
            parent: parent.and_then(|parent| resolver.class(&key("parent"), parent, names)),
            real_time: real_time.or(both),
            link_sharing: link_sharing.or(both),
            upper_limit,
            filters: self.filters.clone(),
            child: None,
        };
        if !is_inner || self.child.is_some() {
            let child = self.child.as_ref();
            class.child = Some(match class.upper_limit {
                Some(limit) => resolver.shaped_to(limit.m2).child_or_pfifo(&key("child"), child),
                None => resolver.child_or_pfifo(&key("child"), child),
            });
        }
        class
    }
}
