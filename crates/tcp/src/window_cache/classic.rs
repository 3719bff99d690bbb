//! Classic policy: a list of peers with their largest windows.
//!
//! Source: O. Hartmann and A. Bestavros, "Aggregating Congestion Information Over Sequences of TCP
//! Connections", Boston University technical report 1998-001.
//! Differs: the report searches a linear list. Assumptions where it is silent: an entry's age is that of its
//! window, so a smaller window does not refresh it; a full list without outdated entries accepts no further
//! peer; an entry is outdated when it is *older* than the lifetime.
//! Two extensions that the authors mention are switches here: a forgetfulness factor, by which a smaller window
//! lowers the cached one by that share of the difference (our interpretation), and samples during a connection,
//! which the driver takes. A limit of trust is our addition.
//! Parameters: [`ClassicConfig`], [`Sharing::lifetime`](super::Sharing::lifetime),
//! [`Sharing::entries`](super::Sharing::entries).

use super::policy::{
    Advice, CacheMiss, CachedWindows, Entries, Opening, Policy, ReportKind, WhenFull, WindowReport,
};
use fairwind_units::{Instant, Ratio, Span};
use std::net::IpAddr;

/// Use of a cached window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Connections begin with it.
    Exact,
    /// Connections begin with half of it, paced; one with losses halves the cached window.
    Safe,
}

/// Parameters of the report's list and its extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicConfig {
    /// Use of a cached window.
    pub trust: Trust,
    /// Share by which a smaller window lowers the cached one; zero is the report's rule.
    pub forgetfulness: Ratio,
    /// Maximum initial window in segments; `None` for the cached one.
    pub largest_window: Option<u32>,
}

impl ClassicConfig {
    /// The report's mechanism.
    pub const REPORT: Self =
        Self { trust: Trust::Exact, forgetfulness: Ratio::ZERO, largest_window: None };

    /// The same with a limit of trust.
    pub const SAFE: Self = Self { trust: Trust::Safe, ..Self::REPORT };
}

#[derive(Debug, Clone, Copy)]
struct CachedPeer {
    window: u32,
    /// Minimum round-trip time of the connection with this window.
    min_rtt: Option<Span>,
}

/// The list.
#[derive(Debug)]
pub(super) struct Classic {
    windows: Entries<CachedPeer>,
    config: ClassicConfig,
}

impl Classic {
    pub(super) fn new(lifetime: Span, entries: usize, config: ClassicConfig) -> Self {
        let windows =
            Entries::new(lifetime, entries, WhenFull::Refuse, |known: &CachedPeer| known.window);
        Self { windows, config }
    }

    /// New value of a cached window `before`; `None` if it stays.
    fn merged(&self, before: Option<u32>, report: &WindowReport) -> Option<u32> {
        if self.config.trust == Trust::Safe && report.has_lost() {
            return Some((before.unwrap_or(0).max(report.window) / 2).max(1));
        }
        match before {
            Some(before) if report.window < before => {
                let excess = u64::from(before - report.window);
                let pull = u32::try_from(self.config.forgetfulness.of(excess)).unwrap_or(u32::MAX);
                (pull > 0).then(|| before.saturating_sub(pull))
            }
            _ => Some(report.window),
        }
    }
}

impl Policy for Classic {
    fn advise(&mut self, opening: &Opening) -> Result<Advice, CacheMiss> {
        let CachedPeer { window, min_rtt } = *self.windows.look_up(opening.peer, opening.now)?;
        let trusted = match self.config.trust {
            Trust::Exact => window,
            Trust::Safe => (window / 2).max(1),
        };
        let bounded = trusted.min(self.config.largest_window.unwrap_or(u32::MAX));
        Ok(match self.config.trust {
            Trust::Exact => Advice { window: Some(bounded), ..Advice::default() },
            // Safe trust never begins with less than the normal initial window.
            Trust::Safe => {
                Advice { min_window: Some(bounded), path_rtt: min_rtt, ..Advice::default() }
            }
        })
    }

    fn learn(&mut self, now: Instant, peer: IpAddr, report: &WindowReport, moment: ReportKind) {
        // A loss counts once, in the last report.
        let is_last = moment != ReportKind::Sampled;
        let before = self.windows.look_up(peer, now).ok().map(|known| known.window);
        if !is_last && report.has_lost() && self.config.trust == Trust::Safe {
            return;
        }
        if let Some(window) = self.merged(before, report) {
            self.windows.put(peer, CachedPeer { window, min_rtt: report.min_rtt }, now);
        }
    }

    fn entries(&self) -> &dyn CachedWindows {
        &self.windows
    }

    fn clear(&mut self) {
        self.windows.clear();
    }
}

#[cfg(test)]
mod tests {
    use crate::window_cache::tests::{Host, peer, window_report};
    use crate::window_cache::{
        CacheEntry, CacheMiss, ClassicConfig, Opener, Openings, PolicyConfig, ReportKind, Sharing,
    };
    use fairwind_units::{Ratio, Span};

    fn report() -> Sharing {
        with(ClassicConfig::REPORT)
    }

    fn with(classic: ClassicConfig) -> Sharing {
        let usual = Sharing::usual(PolicyConfig::Classic(classic));
        Sharing { lifetime: Span::from_secs(60), entries: 3, ..usual }
    }

    #[test]
    fn the_largest_window_among_consecutive_connections_stays() {
        let mut host = Host::new(&report());
        assert_eq!(host.incoming(0, 1).window, None);
        for (second, window) in [(1, 8), (2, 32), (3, 5)] {
            host.closes(second, 1, window_report(window));
        }
        assert_eq!(host.incoming(4, 1).window, Some(32));
        assert_eq!(host.incoming(4, 2).window, None, "nothing is known of another peer");
    }

    #[test]
    fn default_serves_only_incoming_connections() {
        let mut host = Host::new(&report());
        host.closes(1, 1, window_report(32));
        assert_eq!(host.outgoing(2, 1).window, None);
        let mut host = Host::new(&Sharing { openings: Openings::All, ..report() });
        host.closes(1, 1, window_report(32));
        assert_eq!(host.outgoing(2, 1).window, Some(32));
    }

    #[test]
    fn cache_miss_has_a_reason() {
        let mut host = Host::new(&report());
        let why =
            |host: &mut Host, second, number, opener| host.asks(second, number, 1, opener).err();
        assert_eq!(why(&mut host, 0, 1, Opener::Peer), Some(CacheMiss::Unknown));
        host.closes(1, 1, window_report(32));
        assert_eq!(why(&mut host, 2, 1, Opener::Peer), None);
        assert_eq!(why(&mut host, 2, 2, Opener::Peer), Some(CacheMiss::Unknown));
        assert_eq!(why(&mut host, 2, 1, Opener::Host), Some(CacheMiss::NotServed));
        assert_eq!(why(&mut host, 62, 1, Opener::Peer), Some(CacheMiss::Outdated));
        assert_eq!(why(&mut host, 62, 1, Opener::Peer), Some(CacheMiss::Unknown), "it is deleted");
        host.cache().stop();
        assert_eq!(why(&mut host, 62, 1, Opener::Peer), Some(CacheMiss::NotServed));
    }

    /// A smaller window does not make the largest one younger.
    #[test]
    fn lookup_deletes_outdated_entry() {
        let mut host = Host::new(&report());
        host.closes(1, 1, window_report(32));
        host.closes(50, 1, window_report(5));
        assert_eq!(
            host.incoming(61, 1).window,
            Some(32),
            "sixty seconds are not past the lifetime"
        );
        assert_eq!(host.cache().len(), 1);
        assert_eq!(host.incoming(62, 1).window, None);
        assert_eq!(host.cache().len(), 0);
    }

    #[test]
    fn equal_window_refreshes_entry() {
        let mut host = Host::new(&report());
        host.closes(1, 1, window_report(32));
        host.closes(50, 1, window_report(32));
        assert_eq!(host.incoming(110, 1).window, Some(32));
    }

    #[test]
    fn full_list_drops_outdated_entries() {
        let mut host = Host::new(&report());
        for (second, number) in [(1, 1), (2, 2), (50, 3)] {
            host.closes(second, number, window_report(10));
        }
        assert_eq!(host.cache().len(), 3);
        host.closes(70, 4, window_report(10));
        let peers: Vec<_> = host.list(70).iter().map(|entry| entry.peer).collect();
        assert_eq!(peers, [peer(3), peer(4)], "the first two were 69 and 68 s old");
    }

    #[test]
    fn full_list_refuses_new_peer() {
        let mut host = Host::new(&report());
        for number in 1..=5 {
            host.closes(1, number, window_report(10));
        }
        let peers: Vec<_> = host.list(1).iter().map(|entry| entry.peer).collect();
        assert_eq!(peers, [peer(1), peer(2), peer(3)]);
        host.closes(2, 2, window_report(20));
        assert_eq!(host.incoming(3, 2).window, Some(20), "who is in the list is kept up to date");
    }

    #[test]
    fn the_list_shows_address_window_and_age() {
        let mut host = Host::new(&report());
        host.closes(2, 2, window_report(20));
        host.closes(1, 1, window_report(10));
        let line = |number, window, age| CacheEntry {
            peer: peer(number),
            window,
            age: Span::from_secs(age),
        };
        assert_eq!(host.list(12), [line(1, 10, 11), line(2, 20, 10)]);
    }

    #[test]
    fn stopping_capture_frees_the_list() {
        let mut host = Host::new(&report());
        host.closes(1, 1, window_report(32));
        host.cache().stop();
        assert!(host.cache().is_empty());
        host.closes(2, 1, window_report(32));
        assert_eq!(host.incoming(3, 1).window, None);
        host.cache().start();
        assert_eq!(host.incoming(4, 1).window, None);
        host.closes(5, 1, window_report(16));
        assert_eq!(host.incoming(6, 1).window, Some(16));
    }

    /// A quarter of 32 - 8 is 6.
    #[test]
    fn forgetfulness_lowers_window_by_its_share() {
        let quarter = Ratio::from_parts_per_billion(250_000_000);
        let mut host =
            Host::new(&with(ClassicConfig { forgetfulness: quarter, ..ClassicConfig::REPORT }));
        host.closes(1, 1, window_report(32));
        host.closes(2, 1, window_report(8));
        assert_eq!(host.incoming(3, 1).window, Some(26));
        let mut host =
            Host::new(&with(ClassicConfig { forgetfulness: Ratio::ONE, ..ClassicConfig::REPORT }));
        host.closes(1, 1, window_report(32));
        host.closes(2, 1, window_report(8));
        assert_eq!(host.incoming(3, 1).window, Some(8), "the last one is what is remembered");
    }

    #[test]
    fn initial_window_is_bounded() {
        let bounded = ClassicConfig { largest_window: Some(20), ..ClassicConfig::REPORT };
        let mut host = Host::new(&with(bounded));
        host.closes(1, 1, window_report(32));
        assert_eq!(host.incoming(2, 1).window, Some(20));
    }

    #[test]
    fn samples_count_before_the_end() {
        let mut host = Host::new(&report());
        host.learns(1, 1, window_report(40), ReportKind::Sampled);
        host.closes(2, 1, window_report(12));
        assert_eq!(host.incoming(3, 1).window, Some(40));
    }

    #[test]
    fn collection_at_close_ignores_the_end() {
        let mut host = Host::new(&report());
        host.learns(1, 1, window_report(40), ReportKind::Ended);
        assert_eq!(host.incoming(2, 1).window, None);
    }

    /// Half of 32 is 16; after a connection with losses 16 is cached, and connections begin with 8.
    #[test]
    fn safe_trust_halves_windows() {
        let mut host = Host::new(&with(ClassicConfig::SAFE));
        host.closes(1, 1, window_report(32));
        assert_eq!((host.incoming(2, 1).window, host.incoming(2, 1).min_window), (None, Some(16)));
        let lossy = crate::WindowReport { retransmissions: 1, ..window_report(20) };
        host.closes(3, 1, lossy);
        assert_eq!(host.list(3)[0].window, 16);
        assert_eq!(host.incoming(4, 1).min_window, Some(8));
        host.closes(5, 2, lossy);
        assert_eq!(host.list(5)[1].window, 10, "nothing was known of this peer");
    }

    #[test]
    fn the_report_does_not_care_about_losses() {
        let mut host = Host::new(&report());
        host.closes(1, 1, window_report(32));
        host.closes(2, 1, crate::WindowReport { retransmissions: 9, ..window_report(20) });
        assert_eq!(host.incoming(3, 1).window, Some(32));
    }
}
