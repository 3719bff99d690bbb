//! What hosts of a run remember of the windows of their connections: each has a control group of its own for that, which
//! the run's guardian removes, and programs that end with the run.

use super::RunError;
use super::plans::PlannedHost;
use crate::leftovers::{Places, RunName};
use crate::windows::{WindowsError, WindowsOfRun};
use fairwind_measure::RememberedPeer;

/// Makes the control groups and puts the programs there, before the hosts are started, which enter them.
pub(super) fn begin(
    run: RunName,
    hosts: &mut [PlannedHost],
) -> Result<Vec<(String, WindowsOfRun)>, RunError> {
    let remembering = hosts.iter_mut().filter_map(|host| Some((host.windows?, &mut host.plan)));
    remembering
        .map(|(options, plan)| {
            let root = Places::usual().control_groups.ok_or(WindowsError::NoVersionTwo)?;
            let path = root.join(run.of(&format!("{}-windows", plan.name)));
            std::fs::create_dir(&path).map_err(|error| WindowsError::Refused {
                attempt: format!("make the control group {}", path.display()),
                words: error.to_string(),
            })?;
            let begun = WindowsOfRun::begin(&path, &options)?;
            plan.control_group = Some(path);
            Ok((plan.name.clone(), begun))
        })
        .collect()
}

/// What the hosts remember now.
pub(super) fn remembered(
    memories: &[(String, WindowsOfRun)],
) -> Result<Vec<RememberedPeer>, RunError> {
    let mut peers = Vec::new();
    for (host, windows) in memories {
        peers.extend(windows.remembered()?.windows.into_iter().map(|window| RememberedPeer {
            host: host.clone(),
            peer: window.peer,
            window_packets: window.packets,
            age: window.age,
        }));
    }
    Ok(peers)
}
