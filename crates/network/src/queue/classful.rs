//! Classful schedulers: strict priority (prio), deficit round robin (drr), and the classifier they share.
//!
//! Source: tc-prio(8), with the kernel's priorities by type of service (`ip_tos2prio`); Shreedhar and Varghese, "Efficient
//! fair queuing using deficit round-robin", 1996, and tc-drr(8). As in the kernel, drr drops a packet that no class takes.

use super::discipline::{
    BuildChild, DequeueResult, PeekableChild, QueueActions, QueueDiscipline, QueuedPacket,
};
use crate::packet::derive_seed;
use crate::{Backlog, DropReason, Header};
use fairwind_qdisc::Filter;
use fairwind_units::Instant;
use std::collections::VecDeque;
use std::ops::Range;

/// Groups of flows by name: ranges of connection numbers.
#[derive(Debug, Clone, Default)]
pub struct FlowGroups {
    named: Vec<(String, Range<u32>)>,
}

impl FlowGroups {
    /// Adds a group with these connections, which belong to no other group.
    pub fn name(&mut self, name: impl Into<String>, connections: Range<u32>) {
        self.named.push((name.into(), connections));
    }

    /// The connections of the group called `name`.
    pub fn connections(&self, name: &str) -> Option<Range<u32>> {
        self.named.iter().find(|(known, _)| known == name).map(|(_, range)| range.clone())
    }
}

/// A [`Filter`] with its group resolved.
#[derive(Debug, Clone)]
struct ResolvedFilter {
    connections: Option<Range<u32>>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    dscp: Option<u8>,
    protocol: Option<u8>,
}

impl ResolvedFilter {
    fn new(filter: &Filter, groups: &FlowGroups) -> Self {
        // An unknown group matches nothing.
        let nothing = 0..0;
        let connections = filter.group.as_ref();
        Self {
            connections: connections.map(|name| groups.connections(name).unwrap_or(nothing)),
            source_port: filter.source_port,
            destination_port: filter.destination_port,
            dscp: filter.dscp,
            protocol: filter.protocol,
        }
    }

    fn takes(&self, header: &Header) -> bool {
        let is = |wanted: Option<u16>, port| wanted.is_none_or(|wanted| wanted == port);
        self.connections.as_ref().is_none_or(|range| range.contains(&header.connection))
            && is(self.source_port, header.source_port)
            && is(self.destination_port, header.destination_port)
            && self.dscp.is_none_or(|dscp| dscp == header.traffic_class >> 2)
            && self.protocol.is_none_or(|protocol| protocol == header.protocol)
    }
}

/// The filters of all classes; the first that matches decides.
#[derive(Debug, Clone, Default)]
pub(crate) struct Classifier {
    tests: Vec<(ResolvedFilter, usize)>,
}

impl Classifier {
    /// Makes a classifier of `filters`, each with its class.
    pub(crate) fn new<'f>(
        filters: impl IntoIterator<Item = (&'f Filter, usize)>,
        groups: &FlowGroups,
    ) -> Self {
        let tests = filters.into_iter();
        Self {
            tests: tests
                .map(|(filter, class)| (ResolvedFilter::new(filter, groups), class))
                .collect(),
        }
    }

    /// The same of the filters of each class, in the order of the classes.
    pub(super) fn of_classes<'f>(
        classes: impl IntoIterator<Item = &'f Vec<Filter>>,
        groups: &FlowGroups,
    ) -> Self {
        let classes = classes.into_iter().enumerate();
        let filters =
            classes.flat_map(|(place, filters)| filters.iter().map(move |filter| (filter, place)));
        Self::new(filters, groups)
    }

    /// The class of a packet; `None` if no filter matches.
    pub(crate) fn class_of(&self, header: &Header) -> Option<usize> {
        self.tests.iter().find(|(test, _)| test.takes(header)).map(|(_, class)| *class)
    }
}

/// Priority of the kernel's four services: ordinary, bulk, interactive, interactive bulk.
const PRIORITIES: [usize; 4] = [0, 2, 6, 4];

/// The priority, one of 16, that the kernel makes of a packet's type of service.
pub(super) fn priority_of(header: &Header) -> usize {
    PRIORITIES[usize::from(header.traffic_class >> 3 & 0b11)]
}

/// The band of three that a packet belongs to unless said otherwise.
pub(super) fn usual_band(header: &Header) -> usize {
    let priomap = fairwind_qdisc::Prio::default_priomap(3);
    usize::from(priomap[priority_of(header)])
}

/// Strict priority.
pub(super) struct Prio {
    bands: Vec<Box<dyn QueueDiscipline>>,
    priomap: [u8; 16],
    classifier: Classifier,
}

impl Prio {
    pub(super) fn new(
        prio: &fairwind_qdisc::Prio,
        seed: u64,
        groups: &FlowGroups,
        build: &BuildChild<'_>,
    ) -> Self {
        let bands = (0..).zip(&prio.bands);
        let filters = prio.filters.iter().map(|(filter, band)| (filter, usize::from(*band)));
        Self {
            bands: bands.map(|(band, child)| build(child, derive_seed(seed, band))).collect(),
            priomap: prio.priomap,
            classifier: Classifier::new(filters, groups),
        }
    }

    fn band_of(&self, header: &Header) -> usize {
        let by_priority = || usize::from(self.priomap[priority_of(header)]);
        self.classifier.class_of(header).unwrap_or_else(by_priority)
    }
}

impl QueueDiscipline for Prio {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let band = self.band_of(&arrival.header);
        self.bands[band].enqueue(now, arrival, actions)
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        let mut answer = DequeueResult::Empty;
        for band in &mut self.bands {
            match band.dequeue(now, actions) {
                DequeueResult::Packet(waiting) => return DequeueResult::Packet(waiting),
                DequeueResult::NotBefore(instant) => answer = answer.or_not_before(instant),
                DequeueResult::Empty => {}
            }
        }
        answer
    }

    fn head(&self) -> Option<QueuedPacket> {
        self.bands.iter().find(|band| band.backlog().packets > 0)?.head()
    }

    fn backlog(&self) -> Backlog {
        self.bands.iter().map(|band| band.backlog()).fold(Backlog::default(), Backlog::plus)
    }
}

/// A class.
struct Class {
    child: PeekableChild,
    quantum_bytes: u64,
    deficit_bytes: u64,
    is_active: bool,
}

/// Deficit round robin over classes.
pub(super) struct Drr {
    classes: Vec<Class>,
    /// Active classes, the current one first.
    active: VecDeque<usize>,
    classifier: Classifier,
    /// The class of packets that no filter matches.
    others: Option<usize>,
    /// Of all classes.
    backlog: Backlog,
}

impl Drr {
    pub(super) fn new(
        drr: &fairwind_qdisc::Drr,
        seed: u64,
        groups: &FlowGroups,
        build: &BuildChild<'_>,
    ) -> Self {
        let class = |(number, class): (u64, &fairwind_qdisc::DrrClass)| Class {
            child: PeekableChild::new(build(&class.child, derive_seed(seed, number))),
            quantum_bytes: class.quantum_bytes.max(1).into(),
            deficit_bytes: 0,
            is_active: false,
        };
        Self {
            classes: (0..).zip(&drr.classes).map(class).collect(),
            active: VecDeque::new(),
            classifier: Classifier::of_classes(drr.classes.iter().map(|c| &c.filters), groups),
            others: drr.classes.iter().position(|class| class.filters.is_empty()),
            backlog: Backlog::default(),
        }
    }

    /// Moves the class at `place` to the end of the row, with a quantum more.
    fn end_turn(&mut self, place: usize) {
        self.active.pop_front();
        self.active.push_back(place);
        let class = &mut self.classes[place];
        class.deficit_bytes += class.quantum_bytes;
    }

    fn retire(&mut self, place: usize) {
        self.active.pop_front();
        self.classes[place].is_active = false;
    }
}

impl QueueDiscipline for Drr {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let place = self.classifier.class_of(&arrival.header).or(self.others);
        let place = place.ok_or(DropReason::QueueFull)?;
        let class = &mut self.classes[place];
        let before = class.child.backlog();
        let result = class.child.enqueue(now, arrival, actions);
        self.backlog = self.backlog.minus(before).plus(class.child.backlog());
        result?;
        if !class.is_active {
            class.is_active = true;
            class.deficit_bytes = class.quantum_bytes;
            self.active.push_back(place);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        let mut answer = DequeueResult::Empty;
        // Classes that shape are skipped, each once.
        let mut passed_over = 0;
        while passed_over < self.active.len() {
            let place = self.active[0];
            let class = &mut self.classes[place];
            let before = class.child.backlog();
            let next = class.child.peek(now, actions);
            self.backlog = self.backlog.minus(before).plus(class.child.backlog());
            match next {
                DequeueResult::Packet(waiting) => {
                    let bytes = u64::from(waiting.bytes());
                    if bytes > class.deficit_bytes {
                        self.end_turn(place);
                        // Skipped classes are skipped again until the deficit suffices.
                        passed_over = 0;
                        continue;
                    }
                    class.deficit_bytes -= bytes;
                    class.child.take(now, actions);
                    self.backlog = self.backlog.without(waiting.bytes());
                    if class.child.backlog().packets == 0 {
                        self.retire(place);
                    }
                    return DequeueResult::Packet(waiting);
                }
                DequeueResult::Empty => self.retire(place),
                DequeueResult::NotBefore(instant) => {
                    passed_over += 1;
                    answer = answer.or_not_before(instant);
                    self.active.rotate_left(1);
                }
            }
        }
        answer
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_matches_all_its_keys() {
        let mut groups = FlowGroups::default();
        groups.name("greedy", 0..2);
        groups.name("thin", 2..5);
        let thin = Filter { group: Some("thin".to_owned()), ..Filter::default() };
        let thin_web = Filter { destination_port: Some(80), ..thin.clone() };
        let urgent = Filter { dscp: Some(46), ..Filter::default() };
        let unknown = Filter { group: Some("nobody".to_owned()), ..Filter::default() };
        let filters = [(&unknown, 9), (&thin_web, 2), (&thin, 1), (&urgent, 0)];
        let classifier = Classifier::new(filters, &groups);
        let header = Header { connection: 4, destination_port: 80, ..Header::default() };
        assert_eq!(classifier.class_of(&header), Some(2));
        assert_eq!(classifier.class_of(&Header { destination_port: 81, ..header }), Some(1));
        let greedy = Header { connection: 1, ..header };
        assert_eq!(classifier.class_of(&greedy), None);
        // The lowest two bits are no part of the code point.
        let marked = Header { traffic_class: 46 << 2 | 0b11, ..greedy };
        assert_eq!(classifier.class_of(&marked), Some(0));
    }
}
