//! Errors and warnings of an hfsc.

use super::{Check, Warnings};
use crate::{Cake, Fq, Hfsc, HfscClass, Qdisc, ServiceCurve};
use fairwind_units::{BitRate, Span};

/// Largest slope that the kernel knows: 32 bits of bytes per second.
const LARGEST_SLOPE: u64 = u32::MAX as u64 * 8;

/// Longest first piece that `tc` knows: 32 bits of microseconds.
const LONGEST_PIECE: Span = Span::from_micros(u32::MAX as u64);

impl Hfsc {
    fn has_children(&self, index: usize) -> bool {
        self.classes.iter().any(|class| class.parent == Some(index))
    }
}

impl HfscClass {
    /// Its curves, each with its key.
    fn curves(&self) -> impl Iterator<Item = (&'static str, &ServiceCurve)> {
        let curves =
            [("rt", &self.real_time), ("ls", &self.link_sharing), ("ul", &self.upper_limit)];
        curves.into_iter().filter_map(|(key, curve)| Some((key, curve.as_ref()?)))
    }
}

/// The rate at which a curve begins.
fn beginning(curve: &ServiceCurve) -> BitRate {
    if curve.d.is_zero() { curve.m2 } else { curve.m1 }
}

/// Whether a queue may hold packets back.
fn holds_back(queue: &Qdisc) -> bool {
    let own = match queue {
        Qdisc::Tbf(_) | Qdisc::Htb(_) => true,
        Qdisc::Hfsc(hfsc) => hfsc.classes.iter().any(|class| {
            class.upper_limit.is_some() || (class.link_sharing.is_none() && class.child.is_some())
        }),
        Qdisc::Cake(Cake { bandwidth, .. }) => bandwidth.is_some(),
        Qdisc::Fq(Fq { max_rate, .. }) => max_rate.is_some(),
        _ => false,
    };
    own || queue.children().into_iter().any(holds_back)
}

impl Check {
    pub(super) fn hfsc(&mut self, hfsc: &Hfsc) {
        self.hold(!hfsc.classes.is_empty(), "classes", "an hfsc needs at least one class");
        for (index, class) in hfsc.classes.iter().enumerate() {
            self.hfsc_curves(index, class);
            self.hfsc_place(hfsc, index, class);
        }
        let is_parent = |index: usize| hfsc.has_children(index);
        self.default_class(hfsc.default_class, hfsc.classes.len(), is_parent);
    }

    fn hfsc_curves(&mut self, index: usize, class: &HfscClass) {
        for (name, curve) in class.curves() {
            let key = |part: &str| format!("classes[{index}].{name}.{part}");
            self.rate(&key("m2"), curve.m2);
            for (part, rate) in [("m1", curve.m1), ("m2", curve.m2)] {
                let bits = rate.as_bits_per_second();
                let is_known = bits <= LARGEST_SLOPE && (bits == 0 || bits >= 8);
                self.hold(is_known, &key(part), "it must be between 8 bit/s and 34 Gbit/s");
            }
            let is_whole = curve.d == Span::from_micros(1).saturating_mul(curve.d.as_micros());
            self.hold(is_whole, &key("d"), "it must be a whole number of microseconds");
            self.hold(curve.d <= LONGEST_PIECE, &key("d"), "it must be at most 4294 s");
            let is_line = curve.d.is_zero() && curve.m1 > BitRate::from_bits_per_second(0);
            self.hold(!is_line, &key("m1"), "without d it has no effect: leave it out, or set d");
        }
        let key = |name: &str| format!("classes[{index}].{name}");
        let has_part = class.real_time.is_some() || class.link_sharing.is_some();
        self.hold(has_part, &key("ls"), "a class needs ls, rt, or sc for both");
        self.hold(
            class.upper_limit.is_none() || class.link_sharing.is_some(),
            &key("ul"),
            "it limits link sharing, so it needs ls",
        );
    }

    fn hfsc_place(&mut self, hfsc: &Hfsc, index: usize, class: &HfscClass) {
        let key = |name: &str| format!("classes[{index}].{name}");
        let comes_later = class.parent.is_some_and(|parent| parent >= index);
        self.hold(!comes_later, &key("parent"), "parents must precede their children");
        if hfsc.has_children(index) {
            self.inner_class(index, class.child.is_none(), class.filters.is_empty());
            self.hold(
                class.link_sharing.is_some(),
                &key("ls"),
                "a class with classes below needs ls, by which they share",
            );
        } else {
            self.leaf_class(index, class.child.is_some());
        }
        self.filters(&format!("classes[{index}]"), &class.filters);
        if let Some(child) = &class.child {
            let rule = "a queue that holds packets back stalls all other classes (the kernel warns of it): shape with ul";
            self.hold(!holds_back(child), &key("child"), rule);
            self.child(&key("child"), child);
        }
    }
}

impl Warnings {
    pub(super) fn hfsc(&mut self, at: &str, hfsc: &Hfsc, link: Option<BitRate>) {
        for (index, class) in hfsc.classes.iter().enumerate() {
            let key = |name: &str| format!("{at}classes[{index}].{name}");
            // With `sc`, as people write it, both are the same.
            let has_own = class.real_time.is_some() && class.real_time != class.link_sharing;
            let is_unused = has_own && hfsc.has_children(index);
            self.note(is_unused, key("rt"), || {
                "only classes without classes below have real-time service: it has no effect"
                    .to_owned()
            });
            let is_empty = class.child.is_some() && class.filters.is_empty();
            self.unreachable(is_empty && hfsc.default_class != Some(index), key("filters"));
            if let Some(limit) = &class.upper_limit
                && link.is_some_and(|link| beginning(limit) > link)
            {
                self.faster_than_link(&key("ul"), limit.m2, link);
            }
        }
        self.overbooked(at, hfsc, link);
        self.note(hfsc.default_class.is_none(), format!("{at}default"), || {
            "missing: packets without a matching filter are dropped, as in the kernel".to_owned()
        });
    }

    /// More real-time service than the link has cannot be given, in the long run or at the beginning.
    fn overbooked(&mut self, at: &str, hfsc: &Hfsc, link: Option<BitRate>) {
        let leaves = hfsc.classes.iter().enumerate().filter(|(_, class)| class.child.is_some());
        let curves: Vec<(usize, ServiceCurve)> =
            leaves.filter_map(|(index, class)| Some((index, class.real_time?))).collect();
        let sum_of = |rate: fn(&ServiceCurve) -> BitRate| {
            let rates = curves.iter().map(|(_, curve)| rate(curve).as_bits_per_second());
            BitRate::from_bits_per_second(rates.fold(0, u64::saturating_add))
        };
        let sum = sum_of(|curve| curve.m2).max(sum_of(beginning));
        if let (Some(link), Some((last, _))) = (link, curves.last()) {
            self.note(sum > link, format!("{at}classes[{last}].rt"), || {
                format!(
                    "real-time curves promise {sum} together, and the link has {link}: deadlines \
                     will be missed, and nothing is left to share"
                )
            });
        }
    }
}
