//! What the running kernel is and has, as far as settings depend on it.

use crate::controls::{ControlObject, Loadable};
use fairwind_linux as linux;
use fairwind_units::Span;
use std::collections::BTreeSet;
use std::path::Path;

/// Folders whose parameters belong to a network namespace.
const FOLDERS: [&str; 2] = ["net/ipv4", "net/core"];
/// Where CUBIC's parameters are: for the whole machine.
const HYSTART: &str = "/sys/module/tcp_cubic/parameters/hystart";

/// A Linux kernel: its release, and what it can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The release as `uname -r` prints it.
    pub release: String,
    /// The first two numbers of it.
    pub version: (u32, u32),
    /// Names of the sysctls that it has below `net.ipv4` and `net.core`.
    pub sysctls: BTreeSet<String>,
    /// Numbers of the socket options at the level of TCP that it knows, of those that settings use.
    pub socket_options: BTreeSet<i32>,
    /// Congestion controls that sockets may be given.
    pub congestion_controls: BTreeSet<String>,
    /// Congestion controls in C that are there or can be loaded.
    pub loadable: Loadable,
    /// Whether CUBIC leaves slow start early, for the whole machine; `None`: CUBIC is not there.
    pub hystart: Option<bool>,
    /// Whether a namespace may ask for accurate ECN.
    pub accurate_ecn: bool,
    /// The step of the kernel's timers.
    pub tick: Span,
}

impl Kernel {
    /// Asks the running kernel.
    pub fn running() -> Self {
        Self::running_with(&[])
    }

    /// The same, which can be given `controls`, too.
    pub fn running_with(controls: &[ControlObject]) -> Self {
        let release = read("/proc/sys/kernel/osrelease");
        Self {
            version: version(&release),
            release,
            sysctls: FOLDERS.iter().flat_map(|folder| sysctls(folder)).collect(),
            socket_options: linux::known_tcp_options(&super::endpoint::OPTIONS),
            congestion_controls: read("/proc/sys/net/ipv4/tcp_available_congestion_control")
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            loadable: Loadable::here(controls),
            hystart: match read(HYSTART).as_str() {
                "" => None,
                value => Some(value != "0"),
            },
            accurate_ecn: asks_for_accurate_ecn(),
            tick: linux::tick(),
        }
    }

    /// Whether it has a sysctl.
    pub fn has_sysctl(&self, name: &str) -> bool {
        self.sysctls.contains(name)
    }

    /// The least whole number of ticks that is not shorter than `time`.
    pub fn in_ticks(&self, time: Span) -> Span {
        let tick = self.tick.as_nanos().max(1);
        Span::from_nanos(time.as_nanos().div_ceil(tick).saturating_mul(tick))
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse().ok()).unwrap_or(0);
    (next(), next())
}

/// Whether `tcp_ecn` takes 3, tried in a namespace of its own; where none can be had: no.
fn asks_for_accurate_ecn() -> bool {
    std::thread::spawn(|| {
        linux::enter_new_network().is_ok()
            && std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "3").is_ok()
    })
    .join()
    .unwrap_or(false)
}

fn sysctls(folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(Path::new("/proc/sys").join(folder)) else {
        return Vec::new();
    };
    let prefix = folder.replace('/', ".");
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .map(|name| format!("{prefix}.{name}"))
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Linux 6.18 with the sysctls that settings know, for tests that must not depend on a machine.
    pub(crate) fn linux_6_18() -> Kernel {
        let sysctls = super::super::defaults::names().map(str::to_owned).collect();
        Kernel {
            release: "6.18.0".to_owned(),
            version: (6, 18),
            sysctls,
            socket_options: super::super::endpoint::OPTIONS.into_iter().collect(),
            congestion_controls: ["reno", "cubic"].map(str::to_owned).into(),
            loadable: Loadable::default(),
            hystart: Some(true),
            accurate_ecn: false,
            tick: Span::from_millis(4),
        }
    }

    #[test]
    fn a_release_is_read_as_far_as_its_second_number() {
        assert_eq!(version("6.18.44-fc-v595"), (6, 18));
        assert_eq!(version("5.4"), (5, 4));
        assert_eq!(version("7.0-rc1"), (7, 0));
        assert_eq!(version(""), (0, 0));
    }

    #[test]
    fn times_become_whole_ticks_that_are_not_shorter() {
        let kernel = linux_6_18();
        assert_eq!(kernel.in_ticks(Span::from_millis(200)), Span::from_millis(200));
        assert_eq!(kernel.in_ticks(Span::from_millis(30)), Span::from_millis(32));
        assert_eq!(kernel.in_ticks(Span::from_nanos(1)), Span::from_millis(4));
    }
}
