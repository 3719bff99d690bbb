//! Complaints about congestion controls from outside, by group: empty windows, endless pacing intervals, divisions by
//! zero.

use crate::end::End;
use fairwind_measure::ControlComplaint;
use fairwind_scenario::{Congestion, Experiment, TcpSettings};
use fairwind_tcp::ControlFaults;
use std::collections::BTreeMap;

/// The groups with congestion controls from outside, and the group of each connection.
#[derive(Debug, Default)]
pub(crate) struct ExternalControls {
    /// Name of each group, and the congestion controls of its senders and receivers.
    groups: Vec<(String, [Option<String>; 2])>,
    /// The group of each connection; empty if no control is from outside.
    group_of: Vec<usize>,
}

impl ExternalControls {
    pub(crate) fn new(experiment: &Experiment, group_of: impl Iterator<Item = usize>) -> Self {
        let of = |tcp: &TcpSettings| match &tcp.congestion {
            Some(Congestion::Plugged(control)) => Some(control.label()),
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

    /// The complaints of all ends, by group and text.
    pub(crate) fn complaints(&self, ends: &mut [End]) -> Vec<ControlComplaint> {
        let mut found: BTreeMap<(usize, String, String), (u64, Option<u64>)> = BTreeMap::new();
        for (pair, &group) in ends.chunks_exact_mut(2).zip(&self.group_of) {
            let Some((_, controls)) = self.groups.get(group) else { continue };
            for (end, control) in pair.iter_mut().zip(controls) {
                let Some(control) = control else { continue };
                for (text, times) in texts(end.endpoint.control_faults()) {
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

/// The text of each complaint of one endpoint, with its count where there is one.
fn texts(complaints: ControlFaults) -> impl Iterator<Item = (String, Option<u64>)> {
    let ControlFaults { empty_windows, standstills, own } = complaints;
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
