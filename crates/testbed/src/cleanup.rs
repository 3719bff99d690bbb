//! Names, BPF programs and congestion controls that dead runs have left, and their removal.

use fairwind_kernel_settings::controls;
use fairwind_linux::{
    CleanupPaths, KernelError, StaleKind, StaleResource, find_stale, remove_stale,
};
use fairwind_windows as windows;

/// Leftovers of dead runs, processes first. Resources of living runs are not listed.
pub fn find(places: &CleanupPaths) -> Vec<StaleResource> {
    let mut found = find_stale(places);
    if places.programs {
        found.extend(windows::orphaned().into_iter().map(|path| {
            let run = "a control group that is gone".to_owned();
            StaleResource { kind: StaleKind::Program, run, path }
        }));
        found.extend(controls::orphaned().into_iter().map(|path| {
            let run = "runs that are gone".to_owned();
            StaleResource { kind: StaleKind::CongestionControl, run, path }
        }));
    }
    found
}

/// Removes what was found.
///
/// # Errors
/// If the system refuses, mostly for want of rights.
pub fn remove(resource: &StaleResource) -> Result<(), KernelError> {
    match resource.kind {
        StaleKind::CongestionControl => resource.removed(controls::remove_orphaned(&resource.path)),
        _ => remove_stale(resource),
    }
}
