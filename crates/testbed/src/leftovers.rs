//! Names, BPF programs and congestion controls that dead runs have left, and their removal.

use fairwind_kernel_settings::controls;
use fairwind_linux::{Leftover, LeftoverKind, Places, TestbedError, find_names, remove_leftover};
use fairwind_windows as windows;

/// What dead runs have left, processes first. What belongs to a living run is not found.
pub fn find(places: &Places) -> Vec<Leftover> {
    let mut found = find_names(places);
    if places.programs {
        found.extend(windows::forsaken().into_iter().map(|path| {
            let run = "a control group that is gone".to_owned();
            Leftover { kind: LeftoverKind::Program, run, path }
        }));
        found.extend(controls::forsaken().into_iter().map(|path| {
            let run = "runs that are gone".to_owned();
            Leftover { kind: LeftoverKind::CongestionControl, run, path }
        }));
    }
    found
}

/// Removes what was found.
///
/// # Errors
/// Where the system refuses, mostly for want of rights.
pub fn remove(leftover: &Leftover) -> Result<(), TestbedError> {
    match leftover.kind {
        LeftoverKind::CongestionControl => {
            leftover.removed(controls::remove_forsaken(&leftover.path))
        }
        _ => remove_leftover(leftover),
    }
}
