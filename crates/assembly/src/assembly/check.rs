//! What no scenario that keeps its rules contains, and a description from elsewhere may.

use crate::AssemblyError;
use fairwind_scenario::{Experiment, FlowGroup, Workload};
use fairwind_units::ByteCount;

/// Whether groups have flows that can write, and filters ask for none but these groups.
pub(super) fn groups(experiment: &Experiment) -> Result<(), AssemblyError> {
    for group in &experiment.flows {
        if group.connections() == 0 {
            return Err(AssemblyError::NoFlows { group: group.name.clone() });
        }
        writes(group)?;
    }
    for link in &experiment.network.links {
        let is_unknown = |(_, group): &(String, String)| {
            experiment.flows.iter().all(|known| known.name != *group)
        };
        if let Some((key, group)) = link.queue.groups().into_iter().find(is_unknown) {
            return Err(AssemblyError::UnknownGroup { link: link.name.clone(), key, group });
        }
    }
    Ok(())
}

/// Whether the writes that a group replays are writes, in the order of their times.
fn writes(group: &FlowGroup) -> Result<(), AssemblyError> {
    let Workload::Replay { writes, .. } = &group.workload else { return Ok(()) };
    let is_empty = |index: usize| writes[index].size == ByteCount::ZERO;
    let is_early = |index: usize| index > 0 && writes[index].at < writes[index - 1].at;
    match (0..writes.len()).find(|&index| is_empty(index) || is_early(index)) {
        Some(index) => Err(AssemblyError::Writes { group: group.name.clone(), number: index + 1 }),
        None => Ok(()),
    }
}
