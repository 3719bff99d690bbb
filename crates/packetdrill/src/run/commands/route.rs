//! Route metrics (`ip route`).
//!
//! | metric | meaning |
//! |---|---|
//! | `initcwnd N` | initial congestion window |
//! | `advmss N` | segment size announced, at most |
//! | `mtu [lock] N` | packet size; locked, no complaint changes it |
//! | `rto_min N[ms]` | least time-out |
//! | `reordering N` | duplicate ACKs that prove a loss |
//! | `congctl NAME` | congestion control |
//! | `initrwnd N` | initial receive window in segments |
//! | `window N` | greatest receive window |
//! | `quickack 1` | no acknowledgment waits |
//! | `features ecn` | congestion notification is asked for and agreed to |
//! | `fastopen_no_cookie 1` | data goes with the SYN without a cookie |
//! | `hoplimit`, `quickack 0`, `fastopen_no_cookie 0`, other `features` | nothing |
//!
//! A route is written as a whole: metrics that are not named have their defaults again. Addresses,
//! devices, and how the route is found do not matter; deleting and flushing changes nothing.

use super::{congestion_named, number, unknown};
use crate::outcome::Step;
use crate::run::settings::Settings;
use fairwind_tcp::{AckDelay, Config, EcnFeedback, Profile};
use fairwind_units::Span;

/// The metrics of a route; `None` for the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Route {
    initial_window: Option<u32>,
    announced_mss: Option<u16>,
    mtu: Option<u16>,
    locks_mtu: bool,
    least_timeout: Option<Span>,
    reordering: Option<u32>,
    congestion: Option<String>,
    receive_window: Option<u32>,
    window_clamp: Option<u32>,
    switches: Vec<Switch>,
}

/// What a route switches on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    QuickAcknowledgments,
    CongestionNotification,
    NoCookie,
}

impl Route {
    /// What stands behind `ip route`; `None` where it changes no metrics.
    pub(super) fn parse_command(words: &[&str]) -> Step<Option<Self>> {
        let (verb, rest) = words.split_first().ok_or_else(unknown)?;
        match *verb {
            "add" | "change" | "chg" | "replace" | "append" | "prepend" => {}
            "del" | "delete" | "flush" => return Ok(None),
            _ => return Err(unknown()),
        }
        // The first word is the destination.
        let mut rest = rest.get(1..).ok_or_else(unknown)?;
        let mut route = Self::default();
        while let Some((key, behind)) = rest.split_first() {
            if *key == "onlink" {
                rest = behind;
                continue;
            }
            let locked = behind.strip_prefix(&["lock"]);
            route.locks_mtu |= *key == "mtu" && locked.is_some();
            let behind = locked.unwrap_or(behind);
            let (value, behind) = behind.split_first().ok_or_else(unknown)?;
            route.take(key, value)?;
            rest = behind;
        }
        Ok(Some(route))
    }

    fn take(&mut self, key: &str, value: &str) -> Step<()> {
        match (key, value) {
            (
                "via" | "dev" | "src" | "scope" | "proto" | "protocol" | "table" | "metric"
                | "preference" | "hoplimit" | "expires",
                _,
            )
            | ("quickack" | "fastopen_no_cookie", "0")
            | ("features", "tcp_usec_ts") => {}
            ("initrwnd", _) => self.receive_window = Some(number(value)?),
            ("window", _) => self.window_clamp = Some(number(value)?),
            ("quickack", "1") => self.switches.push(Switch::QuickAcknowledgments),
            ("features", "ecn") => self.switches.push(Switch::CongestionNotification),
            ("fastopen_no_cookie", "1") => self.switches.push(Switch::NoCookie),
            ("initcwnd", _) => self.initial_window = Some(number(value)?),
            ("advmss", _) => self.announced_mss = Some(number(value)?),
            ("mtu", _) => self.mtu = Some(number(value)?),
            ("rto_min", _) => self.least_timeout = Some(least_timeout(value)?),
            ("reordering", _) => self.reordering = Some(number(value)?),
            ("congctl", _) => self.congestion = Some(value.to_owned()),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    pub(super) fn apply(
        &self,
        config: &mut Config,
        profile: Profile,
        settings: &Settings,
    ) -> Step<()> {
        let default = settings.adapt(profile.system_config());
        let mss = self.mtu.map_or(default.mss, |mtu| settings.mss_for_mtu(mtu));
        config.mss = self.announced_mss.map_or(mss, |announced| announced.min(mss));
        config.path.mtu = self.mtu.map_or(default.path.mtu, |mtu| Some(u32::from(mtu)));
        config.path.is_mtu_locked = self.locks_mtu;
        config.initial_window = self.initial_window.unwrap_or(default.initial_window);
        config.minimum_rto = self.least_timeout.unwrap_or(default.minimum_rto);
        config.receiving.initial_window = self.receive_window;
        config.receiving.window_clamp = self.window_clamp;
        for switch in &self.switches {
            match switch {
                Switch::QuickAcknowledgments => config.ack_delay = AckDelay::None,
                Switch::CongestionNotification => {
                    let ecn = &mut config.ecn;
                    ecn.outgoing = ecn.outgoing.max(EcnFeedback::Classic);
                    ecn.incoming = ecn.incoming.max(EcnFeedback::Classic);
                }
                Switch::NoCookie => config.fast_open.client_without_cookie = true,
            }
        }
        if let Some(segments) = self.reordering {
            config.duplicate_threshold = segments;
        }
        if let Some(name) = &self.congestion {
            config.congestion = congestion_named(name, profile)?;
        }
        Ok(())
    }
}

/// `40ms`, `1s`, or bare milliseconds.
fn least_timeout(value: &str) -> Step<Span> {
    let (digits, factor) = match (value.strip_suffix("ms"), value.strip_suffix('s')) {
        (Some(digits), _) => (digits, 1),
        (None, Some(digits)) => (digits, 1000),
        (None, None) => (value, 1),
    };
    let number: u32 = number(digits)?;
    Ok(Span::from_millis(u64::from(number) * factor))
}
