//! What was amiss with congestion controls from outside, by group: windows of nothing, paces next to nothing, divisions
//! by zero.

use crate::flow::Flow;
use fairwind_measure::ControlComplaint;
use fairwind_scenario::{Congestion, Experiment, TcpSettings};
use fairwind_tcp::ControlComplaints;
use std::collections::BTreeMap;

/// The groups whose connections are governed from outside, and the flows of all groups.
#[derive(Debug, Default)]
pub(crate) struct Governed {
    /// Name of each group, and the congestion controls of its senders and receivers.
    groups: Vec<(String, [Option<String>; 2])>,
    /// The group of each flow; empty where nobody is governed.
    group_of: Vec<usize>,
}

impl Governed {
    pub(crate) fn new(experiment: &Experiment, group_of: impl Iterator<Item = usize>) -> Self {
        let of = |tcp: &TcpSettings| match &tcp.congestion {
            Some(Congestion::Plugged(name)) => Some(name.as_str().to_owned()),
            Some(bbr @ (Congestion::Bbr | Congestion::Bbr3)) => Some(bbr.name().to_owned()),
            _ => None,
        };
        let groups = experiment.flows.iter();
        let groups: Vec<_> = groups
            .map(|group| (group.name.clone(), [of(&group.tcp), of(&group.receiver_tcp)]))
            .collect();
        if groups.iter().all(|(_, controls)| controls.iter().all(Option::is_none)) {
            return Self::default();
        }
        Self { groups, group_of: group_of.collect() }
    }

    /// What the connections of `flows` have to complain of, by group and by what it is.
    pub(crate) fn complaints(&self, flows: &mut [Flow]) -> Vec<ControlComplaint> {
        let mut found: BTreeMap<(usize, String, String), (u64, Option<u64>)> = BTreeMap::new();
        for (flow, &group) in flows.iter_mut().zip(&self.group_of) {
            let Some((_, controls)) = self.groups.get(group) else { continue };
            for (connection, control) in
                [&mut flow.sender, &mut flow.receiver].into_iter().zip(controls)
            {
                let Some(control) = control else { continue };
                for (text, times) in told(connection.control_complaints()) {
                    let entry = found
                        .entry((group, control.clone(), text))
                        .or_insert((0, times.map(|_| 0)));
                    entry.0 += 1;
                    entry.1 = entry.1.zip(times).map(|(sum, times)| sum + times);
                }
            }
        }
        let row = |((group, congestion, complaint), (connections, times))| ControlComplaint {
            group: self
                .groups
                .get::<usize>(group)
                .map_or_else(String::new, |(name, _)| name.clone()),
            congestion,
            complaint,
            connections,
            times,
        };
        found.into_iter().map(row).collect()
    }
}

/// Each complaint of one connection, with how often there was reason for it where that is counted.
fn told(complaints: ControlComplaints) -> impl Iterator<Item = (String, Option<u64>)> {
    let ControlComplaints { empty_windows, standstills, own } = complaints;
    let counted = [
        (empty_windows, "it asked for a window of no segments, and was given one segment"),
        (standstills, "it asked for a pace at which a segment takes longer than a minute"),
    ];
    let counted = counted
        .into_iter()
        .filter(|&(times, _)| times > 0)
        .map(|(times, text)| (text.to_owned(), Some(u64::from(times))));
    counted.chain(own.map(|text| (text, None)))
}
