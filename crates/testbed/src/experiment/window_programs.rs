//! What hosts of a run remember of the windows of their connections: each has a control group of its own for that, which
//! the run's reaper removes, and programs that end with the run.

use super::RunError;
use super::plans::PlannedHost;
use fairwind_linux::{CleanupPaths, RunName};
use fairwind_measure::{CachedWindow, Tables, remembered_table};
use fairwind_windows::{WindowsError, WindowsOfRun};

/// Makes the control groups and puts the programs there, before the hosts are started, which enter them.
pub(super) fn begin(
    run: RunName,
    hosts: &mut [PlannedHost],
) -> Result<Vec<(String, WindowsOfRun)>, RunError> {
    let remembering = hosts.iter_mut().filter_map(|host| Some((host.windows?, &mut host.plan)));
    remembering
        .map(|(options, plan)| {
            let root = CleanupPaths::usual().control_groups.ok_or(WindowsError::NoVersionTwo)?;
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
) -> Result<Vec<CachedWindow>, WindowsError> {
    let mut peers = Vec::new();
    for (host, windows) in memories {
        peers.extend(windows.remembered()?.windows.into_iter().map(|window| CachedWindow {
            host: host.clone(),
            peer: window.peer,
            window_packets: window.packets,
            age: window.age,
        }));
    }
    Ok(peers)
}

/// Adds the table of what the hosts remember, where they remember anything. A run that is over keeps its other tables
/// where that cannot be read: a remark says so.
pub(super) fn tell(
    tables: &mut Tables,
    remembered: Result<Vec<CachedWindow>, WindowsError>,
) -> Option<String> {
    match remembered {
        Ok(peers) if peers.is_empty() => None,
        Ok(peers) => {
            tables.tables.push(remembered_table(peers));
            None
        }
        Err(error) => Some(format!("there is no table `remembered`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_units::Span;

    #[test]
    fn what_cannot_be_read_is_remarked_and_leaves_the_other_tables() {
        let mut tables = Tables { tables: Vec::new() };
        let peer = CachedWindow {
            host: "server".to_owned(),
            peer: [10, 0, 0, 1].into(),
            window_packets: 32,
            age: Span::ZERO,
        };
        assert_eq!(tell(&mut tables, Ok(vec![peer])), None);
        assert!(tables.get("remembered").is_some());
        let refused =
            WindowsError::Refused { attempt: "read".to_owned(), words: "gone".to_owned() };
        let remark = tell(&mut tables, Err(refused)).expect("it could not be read");
        assert!(remark.contains("`remembered`") && remark.contains("gone"), "{remark}");
        assert_eq!(tell(&mut tables, Ok(Vec::new())), None);
        assert_eq!(tables.tables.len(), 1);
    }
}
