//! The traces of all chosen flows.

use super::flow::{FlowTrace, Limits};
use super::table::traces_table;
use fairwind_measure::Table;
use fairwind_units::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// Which flows are traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Those with these names, as tables have them.
    Named(BTreeSet<String>),
    /// Those of the group with this number.
    Group(u32),
}

/// What is traced, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// Which flows.
    pub selection: Selection,
    /// The most flows; those that begin first are taken.
    pub most_flows: usize,
    /// Points of each flow.
    pub limits: Limits,
}

/// One of the traces that a [`Tracer`] keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(usize);

/// Keeps the traces of chosen flows; memory is bounded by their number and their limits.
#[derive(Debug, Clone)]
pub struct Tracer {
    settings: TraceSettings,
    traces: Vec<FlowTrace>,
    /// How many flows of each name there were.
    named: BTreeMap<String, u32>,
    omitted: u64,
}

impl Tracer {
    /// Without traces yet.
    pub const fn new(settings: TraceSettings) -> Self {
        Self { settings, traces: Vec::new(), named: BTreeMap::new(), omitted: 0 }
    }

    /// A flow begins, called `name`, in the group number `group`: its trace, if it is a chosen one. A
    /// name that there was before, because ports are used again, gets a number.
    pub fn begin(&mut self, name: &str, group: u32) -> Option<TraceId> {
        let is_chosen = match &self.settings.selection {
            Selection::Named(names) => names.contains(name),
            Selection::Group(chosen) => *chosen == group,
        };
        if !is_chosen {
            return None;
        }
        if self.traces.len() >= self.settings.most_flows {
            self.omitted = self.omitted.saturating_add(1);
            return None;
        }
        let times = self.named.entry(name.to_owned()).or_default();
        *times += 1;
        let name = if *times == 1 { name.to_owned() } else { format!("{name} ({times})") };
        self.traces.push(FlowTrace::new(name, self.settings.limits));
        Some(TraceId(self.traces.len() - 1))
    }

    /// The trace with this number.
    pub fn get_mut(&mut self, trace: TraceId) -> Option<&mut FlowTrace> {
        self.traces.get_mut(trace.0)
    }

    /// All traces, in the order in which their flows began.
    pub fn traces(&self) -> &[FlowTrace] {
        &self.traces
    }

    /// Chosen flows that were not traced because there were too many.
    pub const fn omitted(&self) -> u64 {
        self.omitted
    }

    /// All points, as the table `traces`, whose times count from `origin`.
    pub fn table(&self, origin: Instant) -> Table {
        traces_table(&self.traces, origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracer(selection: Selection) -> Tracer {
        Tracer::new(TraceSettings { selection, most_flows: 3, limits: Limits::default() })
    }

    #[test]
    fn flows_are_chosen_by_name_and_a_name_used_again_gets_a_number() {
        let mut tracer = tracer(Selection::Named(["a>b".to_owned()].into()));
        let first = tracer.begin("a>b", 0).expect("chosen");
        assert_eq!(tracer.begin("b>a", 0), None);
        let again = tracer.begin("a>b", 0).expect("chosen again");
        assert_ne!(first, again);
        let names: Vec<_> = tracer.traces().iter().map(FlowTrace::name).collect();
        assert_eq!(names, ["a>b", "a>b (2)"]);
    }

    #[test]
    fn of_a_large_group_the_first_flows_are_traced_and_the_others_counted() {
        let mut tracer = tracer(Selection::Group(1));
        for flow in 0..10 {
            let trace = tracer.begin(&format!("{flow}>b"), flow % 2);
            assert_eq!(trace.is_some(), flow % 2 == 1 && flow < 6);
        }
        assert_eq!((tracer.traces().len(), tracer.omitted()), (3, 2));
    }
}
