//! Careful Resume (RFC 9959): the host's part.
//!
//! Source: RFC 9959 §3.1 (observing), §3.2 (use of saved parameters), §3.5 (deletion after a retreat), §4.1.
//! Saved per peer: the window in segments and the minimum round trip. A window of slow start without a loss is
//! saved by half (§4.1: the validated part); one below four initial windows is not saved (§3.1). One connection
//! at a time uses the saved parameters (§3.2).
//! Differs: windows are in segments, and a connection uses the parameters from its opening, not from its jump.

use super::policy::{
    Advice, CacheMiss, CachedWindows, ConnectionId, Entries, Opening, Policy, ReportKind,
    Resumption, WhenFull, WindowReport,
};
use fairwind_units::{Instant, Ratio, Span};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Parameters of RFC 9959.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarefulResumeConfig {
    /// Maximum jump in segments (`max_jump`); `None` for half of the saved window.
    pub largest_jump: Option<u32>,
    /// Threshold after a retreat as a share of the pipe size (Beta).
    pub retreat: Ratio,
}

impl CarefulResumeConfig {
    /// The values of RFC 9959 §2.4: Beta is one half; jumps have no separate limit.
    pub const USUAL: Self =
        Self { largest_jump: None, retreat: Ratio::from_parts_per_billion(500_000_000) };
}

/// Minimum saved window in initial windows (RFC 9959 §3.1).
const MIN_INITIAL_WINDOWS: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Saved {
    window: u32,
    min_rtt: Span,
}

/// The saved sets of a host.
#[derive(Debug)]
pub(super) struct CarefulResume {
    saved: Entries<Saved>,
    /// The connection that uses the parameters of a peer.
    users: BTreeMap<IpAddr, ConnectionId>,
    config: CarefulResumeConfig,
}

impl CarefulResume {
    pub(super) fn new(lifetime: Span, entries: usize, config: CarefulResumeConfig) -> Self {
        let saved =
            Entries::new(lifetime, entries, WhenFull::Replace, |saved: &Saved| saved.window);
        Self { saved, users: BTreeMap::new(), config }
    }
}

impl Policy for CarefulResume {
    fn advise(&mut self, opening: &Opening) -> Result<Advice, CacheMiss> {
        let saved = *self.saved.look_up(opening.peer, opening.now)?;
        if self.users.contains_key(&opening.peer) {
            return Err(CacheMiss::InUse);
        }
        self.users.insert(opening.peer, opening.connection);
        let jump = (saved.window / 2).min(self.config.largest_jump.unwrap_or(u32::MAX));
        let resumption =
            Resumption { jump, saved_rtt: saved.min_rtt, retreat: self.config.retreat };
        Ok(Advice { resumption: Some(resumption), ..Advice::default() })
    }

    fn learn(&mut self, now: Instant, peer: IpAddr, report: &WindowReport, _moment: ReportKind) {
        if report.is_resuming {
            // An unvalidated window is not observed (RFC 9959 §4.6).
            return;
        }
        let in_slow_start = report.slow_start_threshold.is_none();
        let window = if in_slow_start { report.window / 2 } else { report.window };
        let Some(min_rtt) = report.min_rtt else { return };
        if window >= MIN_INITIAL_WINDOWS * report.initial_window {
            self.saved.put(peer, Saved { window, min_rtt }, now);
        }
    }

    fn release(&mut self, peer: IpAddr, connection: ConnectionId, failed: bool) {
        if self.users.get(&peer) == Some(&connection) {
            self.users.remove(&peer);
            if failed {
                self.saved.remove(peer);
            }
        }
    }

    fn entries(&self) -> &dyn CachedWindows {
        &self.saved
    }

    fn clear(&mut self) {
        self.saved.clear();
        self.users.clear();
    }
}

#[cfg(test)]
mod tests {
    use crate::WindowReport;
    use crate::window_cache::tests::{Host, peer, window_report};
    use crate::window_cache::{
        CacheMiss, CarefulResumeConfig, ConnectionId, Opener, PolicyConfig, Resumption, Sharing,
    };
    use fairwind_units::Span;

    fn host() -> Host {
        with(CarefulResumeConfig::USUAL)
    }

    fn with(careful: CarefulResumeConfig) -> Host {
        Host::new(&Sharing::usual(PolicyConfig::CarefulResume(careful)))
    }

    #[test]
    fn jump_is_half_of_saved_window() {
        let mut host = host();
        host.ends(1, 1, window_report(300));
        let expected = Resumption {
            jump: 150,
            saved_rtt: Span::from_millis(80),
            retreat: CarefulResumeConfig::USUAL.retreat,
        };
        assert_eq!(host.incoming(2, 1).resumption, Some(expected));
    }

    #[test]
    fn the_largest_jump_bounds_it() {
        let mut host =
            with(CarefulResumeConfig { largest_jump: Some(40), ..CarefulResumeConfig::USUAL });
        host.ends(1, 1, window_report(300));
        assert_eq!(host.incoming(2, 1).resumption.map(|resumption| resumption.jump), Some(40));
    }

    /// The initial window is 2: the minimum saved window is 8, or 16 in slow start.
    #[test]
    fn small_windows_are_not_saved() {
        let slow_start =
            |window| WindowReport { slow_start_threshold: None, ..window_report(window) };
        for (told, saved) in [
            (window_report(7), None),
            (window_report(8), Some(8)),
            (slow_start(15), None),
            (slow_start(16), Some(8)),
        ] {
            let mut host = host();
            host.ends(1, 1, told);
            assert_eq!(host.list(1).first().map(|entry| entry.window), saved);
        }
    }

    #[test]
    fn saved_window_has_one_user() {
        let mut host = host();
        host.ends(1, 1, window_report(300));
        assert!(host.opens(2, 1, 1, Opener::Peer).resumption.is_some());
        assert_eq!(host.asks(2, 1, 2, Opener::Peer), Err(CacheMiss::InUse));
        assert_eq!(host.asks(2, 2, 3, Opener::Peer), Err(CacheMiss::Unknown), "of another peer");
        host.cache().on_release(peer(1), ConnectionId(2), false);
        assert!(
            host.opens(2, 1, 3, Opener::Peer).resumption.is_none(),
            "only who has it gives it back"
        );
        host.cache().on_release(peer(1), ConnectionId(1), false);
        assert!(host.opens(2, 1, 4, Opener::Peer).resumption.is_some());
    }

    #[test]
    fn a_retreat_deletes_the_saved_set() {
        let mut host = host();
        host.ends(1, 1, window_report(300));
        host.opens(2, 1, 1, Opener::Peer);
        host.cache().on_release(peer(1), ConnectionId(1), true);
        assert!(host.cache().is_empty());
    }

    #[test]
    fn saved_window_expires() {
        let mut host = host();
        host.ends(1, 1, window_report(300));
        assert!(host.opens(602, 1, 1, Opener::Peer).resumption.is_none());
        assert!(host.cache().is_empty());
    }

    #[test]
    fn unvalidated_window_is_not_saved() {
        let mut host = host();
        host.ends(1, 1, WindowReport { is_resuming: true, ..window_report(300) });
        assert!(host.cache().is_empty());
    }
}
