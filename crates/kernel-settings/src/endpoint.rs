//! Settings of one end of a flow group, and those that the kernel does not support.
//!
//! What a kernel cannot have, and what comes nearest.

use super::Kernel;
use fairwind_hosts::SocketOption;
use fairwind_scenario::{FlowGroup, TcpSettings, Workload};
use fairwind_units::Span;
use fairwind_windows::WindowOptions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The level of the options of TCP sockets.
pub(crate) const TCP: i32 = libc::IPPROTO_TCP;
/// Waiting until a segment is full is off.
pub(crate) const NO_DELAY: i32 = libc::TCP_NODELAY;
/// The largest segment, announced and sent.
pub(crate) const GREATEST_SEGMENT: i32 = libc::TCP_MAXSEG;
/// SYNs that are repeated.
pub(crate) const SYN_COUNT: i32 = libc::TCP_SYNCNT;
/// Linear time-outs of a thin stream (`TCP_THIN_LINEAR_TIMEOUTS`).
pub(crate) const LINEAR_TIMEOUTS: i32 = 16;
/// Modified fast retransmit of a thin stream (`TCP_THIN_DUPACK`, without effect since 4.11).
pub(crate) const THIN_DUPLICATES: i32 = 17;
/// The greatest time-out in milliseconds (`TCP_RTO_MAX_MS`, since 6.15).
pub(crate) const GREATEST_TIMEOUT: i32 = 44;

/// The options at the level of TCP that settings use.
pub(crate) const OPTIONS: [i32; 6] =
    [NO_DELAY, GREATEST_SEGMENT, SYN_COUNT, LINEAR_TIMEOUTS, THIN_DUPLICATES, GREATEST_TIMEOUT];

/// A small difference between what a scenario says and what the kernel does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Where in the scenario.
    pub key: String,
    /// What differs.
    pub text: String,
}

/// Which end of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that connects and sends.
    Sender,
    /// The one that listens and receives.
    Receiver,
}

impl Side {
    /// The scenario's table for it.
    pub fn table(self) -> &'static str {
        match self {
            Self::Sender => "tcp",
            Self::Receiver => "receiver_tcp",
        }
    }
}

/// One end of a group while its settings are gone through.
#[derive(Debug)]
pub struct Endpoint<'a> {
    pub kernel: &'a Kernel,
    pub group: &'a str,
    pub side: Side,
    pub workload: &'a Workload,
    pub settings: &'a TcpSettings,
    /// Whether the group's sender has the same profile, so that one word about it is enough.
    pub profile_is_the_senders: bool,
    /// Largest IP packet of the path in bytes.
    pub mtu: u64,
    /// Sysctls of its host that differ from what is usual.
    pub sysctls: BTreeMap<&'static str, String>,
    /// Attributes of the routes from its host.
    pub route: BTreeMap<&'static str, String>,
    /// Attributes of its host's device.
    pub device: BTreeMap<&'static str, String>,
    /// What its host remembers of the windows of connections.
    pub windows: Option<WindowOptions>,
    /// Congestion control of its sockets.
    pub congestion: String,
    /// Options of its sockets.
    pub options: Vec<SocketOption>,
    pub refusals: Vec<UnsupportedSetting>,
    pub remarks: Vec<Note>,
}

impl<'a> Endpoint<'a> {
    pub fn new(kernel: &'a Kernel, flows: &'a FlowGroup, side: Side, mtu: u64) -> Self {
        Self {
            kernel,
            group: &flows.name,
            side,
            workload: &flows.workload,
            settings: match side {
                Side::Sender => &flows.tcp,
                Side::Receiver => &flows.receiver_tcp,
            },
            profile_is_the_senders: side == Side::Receiver
                && flows.tcp.profile() == flows.receiver_tcp.profile(),
            mtu,
            sysctls: BTreeMap::new(),
            route: BTreeMap::new(),
            device: BTreeMap::new(),
            windows: None,
            congestion: String::new(),
            options: Vec::new(),
            refusals: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Where `key` stands in the scenario.
    pub fn path(&self, key: &str) -> String {
        format!("flows.{}.{}.{key}", self.group, self.side.table())
    }

    /// What `key` is set to, as in a scenario.
    fn value(&self, key: &str) -> String {
        let all = serde_json::to_value(self.settings).unwrap_or_default();
        all.get(key).map_or_else(|| "what the profile has".to_owned(), ToString::to_string)
    }

    /// Refuses what `key` is set to: what the kernel would have to do and why it does not, and what
    /// comes nearest.
    pub fn refuse(&mut self, key: &str, mechanism: &str, alternative: &str) {
        self.refusals.push(UnsupportedSetting {
            group: self.group.to_owned(),
            key: self.path(key),
            value: self.value(key),
            mechanism: mechanism.to_owned(),
            kernel: self.kernel.release.clone(),
            alternative: alternative.to_owned(),
        });
    }

    /// Says how the kernel's behaviour differs from what `key` says.
    pub fn remark(&mut self, key: &str, text: String) {
        self.remarks.push(Note { key: self.path(key), text });
    }

    /// Sets a sysctl of the host for `key` to a number, or refuses where the kernel has none.
    pub fn sysctl(&mut self, key: &str, name: &'static str, value: impl Into<u64>) {
        self.sysctl_text(key, name, value.into().to_string());
    }

    /// Sets a sysctl of the host for `key`, or refuses where the kernel has none.
    pub fn sysctl_text(&mut self, key: &str, name: &'static str, value: String) {
        if self.kernel.has_sysctl(name) {
            self.sysctls.insert(name, value);
        } else {
            let mechanism = format!("it has no sysctl {name}");
            self.refuse(key, &mechanism, "leave the key out, or use another kernel");
        }
    }

    /// Sets a socket option, where the kernel has it. Tells whether it does.
    pub fn option(&mut self, name: &'static str, option: i32, value: i32) -> bool {
        let known = self.kernel.socket_options.contains(&option);
        if known {
            self.options.push(SocketOption {
                name: name.to_owned(),
                level: TCP,
                number: option,
                value,
            });
        }
        known
    }

    /// Sets an option at the level of sockets, which every kernel has.
    pub fn socket_option(&mut self, name: &'static str, option: i32, value: i32) {
        let level = libc::SOL_SOCKET;
        self.options.push(SocketOption { name: name.to_owned(), level, number: option, value });
    }

    /// A time as the kernel's timers can keep it; says so where that is another one.
    pub fn in_ticks(&mut self, key: &str, time: Span) -> Span {
        let kept = self.kernel.in_ticks(time);
        if kept != time {
            let tick = self.kernel.tick;
            self.remark(
                key,
                format!("the kernel's timers step by {tick}: {kept} instead of {time}"),
            );
        }
        kept
    }
}

/// One setting that a kernel cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnsupportedSetting {
    /// The group of flows that asks for it.
    pub group: String,
    /// Where in the scenario: `flows.thin.tcp.loss_detection`.
    pub key: String,
    /// What it is set to, as in the scenario.
    pub value: String,
    /// What the kernel would have to do, and why it does not.
    pub mechanism: String,
    /// The kernel's release.
    pub kernel: String,
    /// What comes nearest on this kernel.
    pub alternative: String,
}

impl fmt::Display for UnsupportedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, mechanism, kernel, alternative, .. } = self;
        write!(f, "{key} = {value}: Linux {kernel}: {mechanism}\n  nearest: {alternative}")
    }
}

/// Everything of an experiment that a kernel cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct UnsupportedSettings {
    /// One or more, in the order of the scenario's groups.
    pub refusals: Vec<UnsupportedSetting>,
}

impl fmt::Display for UnsupportedSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.refusals.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{refusal}")?;
        }
        Ok(())
    }
}
