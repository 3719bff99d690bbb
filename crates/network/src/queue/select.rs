//! Which class a packet belongs to.

use crate::Header;
use fairwind_qdisc::Filter;
use std::ops::Range;

/// Names of groups, each with the numbers of its connections.
#[derive(Debug, Clone, Default)]
pub struct FlowGroups {
    named: Vec<(String, Range<u32>)>,
}

impl FlowGroups {
    /// Adds a group: `connections` are its, and nobody else's.
    pub fn name(&mut self, name: impl Into<String>, connections: Range<u32>) {
        self.named.push((name.into(), connections));
    }

    /// The connections of the group called `name`.
    pub fn connections(&self, name: &str) -> Option<Range<u32>> {
        self.named.iter().find(|(known, _)| known == name).map(|(_, range)| range.clone())
    }
}

/// A [`Filter`] whose group is known.
#[derive(Debug, Clone)]
struct Test {
    connections: Option<Range<u32>>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    dscp: Option<u8>,
    protocol: Option<u8>,
}

impl Test {
    fn new(filter: &Filter, groups: &FlowGroups) -> Self {
        // A group that nobody knows takes nothing.
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

/// Filters of several classes; the first that takes a packet decides.
#[derive(Debug, Clone, Default)]
pub(crate) struct Classifier {
    tests: Vec<(Test, usize)>,
}

impl Classifier {
    /// Of `filters`, each with the class that it sends packets to.
    pub(crate) fn new<'f>(
        filters: impl IntoIterator<Item = (&'f Filter, usize)>,
        groups: &FlowGroups,
    ) -> Self {
        let tests = filters.into_iter();
        Self { tests: tests.map(|(filter, class)| (Test::new(filter, groups), class)).collect() }
    }

    /// The class of a packet; `None` where no filter takes it.
    pub(crate) fn class_of(&self, header: &Header) -> Option<usize> {
        self.tests.iter().find(|(test, _)| test.takes(header)).map(|(_, class)| *class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_takes_what_is_everything_that_it_asks_for() {
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
