//! Settings of one end of a flow group, and those that the kernel does not support.

use super::Kernel;
use super::kernel::default_sysctls;
use fairwind_hosts::SocketOption;
use fairwind_scenario::{FlowGroup, TcpSettings, Workload};
use fairwind_units::Span;
use fairwind_windows::WindowOptions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A small difference between what a scenario says and what the kernel does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The key of the scenario.
    pub key: String,
    /// The difference.
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

/// Settings that a whole host has, by kind and name.
pub(crate) type HostValues = BTreeMap<(Kind, &'static str), String>;

/// Kind of a setting of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Sysctl,
    Route,
    Device,
    Memory,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sysctl => "sysctl",
            Self::Route => "route attribute",
            Self::Device => "device attribute",
            Self::Memory => "memory of",
        }
    }
}

/// One end of a group while its settings are gone through.
#[derive(Debug)]
pub struct Endpoint<'a> {
    pub kernel: &'a Kernel,
    pub group: &'a str,
    pub side: Side,
    /// The key that is being applied.
    pub key: &'static str,
    pub workload: &'a Workload,
    pub settings: &'a TcpSettings,
    /// Whether the group's sender has the same profile, so that one word about it is enough.
    pub profile_is_the_senders: bool,
    /// Largest IP packet of the path in bytes.
    pub mtu: u64,
    /// Values of its host, the usual ones included.
    pub host: HostValues,
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
        let usual = default_sysctls(kernel).into_iter();
        Self {
            kernel,
            group: &flows.name,
            side,
            key: "",
            workload: &flows.workload,
            settings: match side {
                Side::Sender => &flows.tcp,
                Side::Receiver => &flows.receiver_tcp,
            },
            profile_is_the_senders: side == Side::Receiver
                && flows.tcp.profile() == flows.receiver_tcp.profile(),
            mtu,
            host: usual.map(|(name, value)| ((Kind::Sysctl, name), value)).collect(),
            windows: None,
            congestion: String::new(),
            options: Vec::new(),
            refusals: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Where the key stands in the scenario.
    fn path(&self) -> String {
        format!("flows.{}.{}.{}", self.group, self.side.table(), self.key)
    }

    /// Refuses what the key is set to: what the kernel would have to do and why it does not, and what
    /// comes nearest.
    pub fn refuse(&mut self, mechanism: &str, alternative: &str) {
        let all = serde_json::to_value(self.settings).unwrap_or_default();
        let value = all.get(self.key).map(ToString::to_string);
        self.refusals.push(UnsupportedSetting {
            group: self.group.to_owned(),
            key: self.path(),
            value: value.unwrap_or_else(|| "what the profile has".to_owned()),
            mechanism: mechanism.to_owned(),
            kernel: self.kernel.release.clone(),
            alternative: alternative.to_owned(),
        });
    }

    /// Refuses what the key is set to, where it is set to something that the kernel cannot have.
    pub fn refuse_if(&mut self, is_unsupported: bool, mechanism: &str, alternative: &str) {
        if is_unsupported {
            self.refuse(mechanism, alternative);
        }
    }

    /// Says how the kernel's behaviour differs from what the key says.
    pub fn remark(&mut self, text: String) {
        self.remarks.push(Note { key: self.path(), text });
    }

    /// Plans a sysctl of the host to be on or off, if the key says so.
    pub fn switch(&mut self, name: &'static str, on: Option<bool>) {
        if let Some(on) = on {
            self.sysctl(name, u8::from(on));
        }
    }

    /// Plans a number for a sysctl of the host, or refuses where the kernel has none.
    pub fn sysctl(&mut self, name: &'static str, value: impl Into<u64>) {
        self.sysctl_text(name, value.into().to_string());
    }

    /// Plans the text of a sysctl of the host, which the host process writes, or refuses where the kernel has none.
    pub fn sysctl_text(&mut self, name: &'static str, value: String) {
        if self.kernel.has_sysctl(name) {
            self.host.insert((Kind::Sysctl, name), value);
        } else {
            let mechanism = format!("it has no sysctl {name}");
            self.refuse(&mechanism, "leave the key out, or use another kernel");
        }
    }

    /// Sets an attribute of the routes from its host.
    pub fn route(&mut self, name: &'static str, value: String) {
        self.host.insert((Kind::Route, name), value);
    }

    /// Sets an attribute of its host's device.
    pub fn device(&mut self, name: &'static str, value: &str) {
        self.host.insert((Kind::Device, name), value.to_owned());
    }

    /// Lets its host remember windows.
    pub fn remember_windows(&mut self, options: WindowOptions) {
        let written = serde_json::to_string(&options).unwrap_or_default();
        self.host.insert((Kind::Memory, "windows"), written);
        self.windows = Some(options);
    }

    /// Sets a socket option if the kernel has it. Returns whether it has.
    pub fn option(&mut self, name: &str, number: i32, value: i32) -> bool {
        let known = self.kernel.socket_options.contains(&number);
        if known {
            let name = name.to_owned();
            self.options.push(SocketOption { name, level: libc::IPPROTO_TCP, number, value });
        }
        known
    }

    /// Switches pacing on by a rate that no link has, 17 Gbit/s, which bounds nothing.
    pub fn pace(&mut self) {
        self.options.push(SocketOption {
            name: "SO_MAX_PACING_RATE".to_owned(),
            level: libc::SOL_SOCKET,
            number: libc::SO_MAX_PACING_RATE,
            value: i32::MAX,
        });
    }

    /// A time as the kernel's timers can keep it; says so where that is another one.
    pub fn in_ticks(&mut self, time: Span) -> Span {
        let kept = self.kernel.in_ticks(time);
        if kept != time {
            let tick = self.kernel.tick;
            self.remark(format!("the kernel's timers step by {tick}: {kept} instead of {time}"));
        }
        kept
    }
}

/// One setting that a kernel cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
