//! TCP control block sharing (RFC 9040).
//!
//! **Temporal sharing** (§6): a connection begins with round trip, variation, threshold and window of earlier
//! ones. At its end its values are merged with the cached ones. The RFC leaves the function open (§6.2); here
//! it is the mean. The cached segment size is not used, because the SYN has it.
//!
//! **Ensemble sharing** (§7): windows and thresholds are a sum over the open connections to one peer (§7.2).
//! The RFC leaves the division open. Here each of `n` connections, including the new one, gets an `n`th of the
//! sum, and the old ones get one segment more each until the rest is used, so the sum stays. A connection that
//! ends takes its share with it.

use super::policy::{
    Advice, CacheMiss, CachedWindows, ConnectionId, Entries, Opening, Policy, ReportKind, Share,
    TimeoutSeed, WhenFull, WindowReport,
};
use fairwind_units::{Instant, Span};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// Parameters of the sharing of RFC 9040.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcbSharingConfig {
    /// Open connections to one peer share their windows (RFC 9040 §7).
    pub ensemble: bool,
    /// Maximum initial window in segments; `None` for the cached one.
    pub largest_window: Option<u32>,
}

/// Shared values of an open connection, or of ended ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    rtt: Option<Span>,
    rtt_variation: Span,
    threshold: Option<u32>,
    window: u32,
}

/// The blocks of a host.
#[derive(Debug)]
pub(super) struct TcbCache {
    kept: Entries<Block>,
    open: BTreeMap<IpAddr, BTreeMap<ConnectionId, Option<Block>>>,
    shares: VecDeque<Share>,
    config: TcbSharingConfig,
}

fn mean_of_spans(left: Span, right: Span) -> Span {
    (left + right) / 2
}

impl Block {
    fn of(report: &WindowReport) -> Self {
        Self {
            rtt: report.smoothed_rtt,
            rtt_variation: report.rtt_variation,
            threshold: report.slow_start_threshold,
            window: report.window,
        }
    }

    /// RFC 9040 §6.2: `merge(curr, old)`.
    fn merged(self, old: Self) -> Self {
        let either = |one: Option<u32>, other: Option<u32>| match (one, other) {
            (Some(one), Some(other)) => Some(u32::midpoint(one, other)),
            (one, other) => one.or(other),
        };
        let (rtt, rtt_variation) = match (self.rtt, old.rtt) {
            (Some(new), Some(known)) => {
                let variation = mean_of_spans(self.rtt_variation, old.rtt_variation);
                (Some(mean_of_spans(new, known)), variation)
            }
            (Some(new), None) => (Some(new), self.rtt_variation),
            (None, known) => (known, old.rtt_variation),
        };
        Self {
            rtt,
            rtt_variation,
            threshold: either(self.threshold, old.threshold),
            window: u32::midpoint(self.window, old.window),
        }
    }

    fn advice(self) -> Advice {
        Advice {
            window: Some(self.window),
            slow_start_threshold: self.threshold,
            timeout: self
                .rtt
                .map(|rtt| TimeoutSeed::Estimator { rtt, variation: self.rtt_variation }),
            ..Advice::default()
        }
    }
}

impl TcbCache {
    pub(super) fn new(lifetime: Span, entries: usize, config: TcbSharingConfig) -> Self {
        Self {
            kept: Entries::new(lifetime, entries, WhenFull::Replace, |block: &Block| block.window),
            open: BTreeMap::new(),
            shares: VecDeque::new(),
            config,
        }
    }

    /// Shares of a new connection and of the open ones; `None` if it is alone.
    fn join(&mut self, opening: &Opening) -> Option<Advice> {
        let members = self.open.entry(opening.peer).or_default();
        let told: Vec<(ConnectionId, Block)> =
            members.iter().filter_map(|(id, member)| Some((*id, (*member)?))).collect();
        members.insert(opening.connection, None);
        let last = told.last()?.1;
        let count = u32::try_from(told.len() + 1).unwrap_or(u32::MAX);
        let sum: u32 = told.iter().map(|(_, member)| member.window).sum();
        let share = (sum / count).max(1);
        let left_over = usize::try_from(sum.saturating_sub(share * count)).unwrap_or(usize::MAX);
        let thresholds: Vec<u32> = told.iter().filter_map(|(_, member)| member.threshold).collect();
        let slow_start_threshold =
            (!thresholds.is_empty()).then(|| (thresholds.iter().sum::<u32>() / count).max(2));
        for (place, (connection, _)) in told.into_iter().enumerate() {
            let window = share + u32::from(place < left_over);
            self.shares.push_back(Share { connection, window, slow_start_threshold });
        }
        Some(Advice { window: Some(share), slow_start_threshold, ..last.advice() })
    }
}

impl Policy for TcbCache {
    fn advise(&mut self, opening: &Opening) -> Result<Advice, CacheMiss> {
        let shared = if self.config.ensemble { self.join(opening) } else { None };
        let kept = || self.kept.look_up(opening.peer, opening.now).map(|kept| kept.advice());
        let mut advice = shared.map_or_else(kept, Ok)?;
        let max = self.config.largest_window.unwrap_or(u32::MAX);
        advice.window = advice.window.map(|window| window.min(max));
        Ok(advice)
    }

    fn learn(&mut self, now: Instant, peer: IpAddr, report: &WindowReport, moment: ReportKind) {
        if moment == ReportKind::Sampled {
            let members = self.open.get_mut(&peer);
            if let Some(member) = members.and_then(|open| open.get_mut(&report.connection)) {
                *member = Some(Block::of(report));
            }
            return;
        }
        let known = self.kept.look_up(peer, now).ok().copied();
        let new = Block::of(report);
        self.kept.put(peer, known.map_or(new, |old| new.merged(old)), now);
        self.leave(peer, report.connection);
    }

    fn leave(&mut self, peer: IpAddr, connection: ConnectionId) {
        if let Some(members) = self.open.get_mut(&peer) {
            members.remove(&connection);
            if members.is_empty() {
                self.open.remove(&peer);
            }
        }
    }

    fn companions(&self, peer: IpAddr) -> Vec<ConnectionId> {
        self.open.get(&peer).map(|open| open.keys().copied().collect()).unwrap_or_default()
    }

    fn poll_share(&mut self) -> Option<Share> {
        self.shares.pop_front()
    }

    fn entries(&self) -> &dyn CachedWindows {
        &self.kept
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.open.clear();
        self.shares.clear();
    }
}

#[cfg(test)]
mod tests {
    use crate::WindowReport;
    use crate::window_cache::tests::{Host, peer, window_report};
    use crate::window_cache::{
        ConnectionId, Opener, PolicyConfig, ReportKind, Share, Sharing, TcbSharingConfig,
        TimeoutSeed,
    };
    use fairwind_units::{Instant, Span};

    fn host(ensemble: bool) -> Host {
        let shared = TcbSharingConfig { ensemble, largest_window: None };
        Host::new(&Sharing::usual(PolicyConfig::TcbSharing(shared)))
    }

    fn of(connection: u64, window: u32) -> WindowReport {
        let connection = ConnectionId(connection);
        WindowReport { connection, slow_start_threshold: Some(18), ..window_report(window) }
    }

    /// Samples of open connections, which the driver takes before a connection opens.
    fn samples(host: &mut Host, windows: &[(u64, u32)]) {
        let asked = host.cache().companions(peer(1));
        for &(connection, window) in windows {
            assert!(asked.contains(&ConnectionId(connection)), "{asked:?}");
            host.learns(1, 1, of(connection, window), ReportKind::Sampled);
        }
    }

    /// RFC 9040 §6.1.
    #[test]
    fn later_connection_uses_cached_values() {
        let mut host = host(false);
        host.ends(1, 1, WindowReport { slow_start_threshold: Some(24), ..window_report(32) });
        let advice = host.outgoing(2, 1);
        assert_eq!(advice.window, Some(32));
        assert_eq!(advice.slow_start_threshold, Some(24));
        let (rtt, variation) = (Span::from_millis(100), Span::from_millis(20));
        assert_eq!(advice.timeout, Some(TimeoutSeed::Estimator { rtt, variation }));
    }

    /// RFC 9040 §6.2: the mean of old and new.
    #[test]
    fn cached_and_new_values_are_merged() {
        let mut host = host(false);
        host.ends(1, 1, WindowReport { slow_start_threshold: Some(24), ..window_report(32) });
        let second = WindowReport {
            slow_start_threshold: Some(12),
            smoothed_rtt: Some(Span::from_millis(200)),
            rtt_variation: Span::from_millis(60),
            ..window_report(8)
        };
        host.ends(2, 1, second);
        let advice = host.outgoing(3, 1);
        assert_eq!((advice.window, advice.slow_start_threshold), (Some(20), Some(18)));
        let (rtt, variation) = (Span::from_millis(150), Span::from_millis(40));
        assert_eq!(advice.timeout, Some(TimeoutSeed::Estimator { rtt, variation }));
    }

    #[test]
    fn unset_threshold_keeps_cached_one() {
        let mut host = host(false);
        host.ends(1, 1, WindowReport { slow_start_threshold: Some(24), ..window_report(32) });
        host.ends(2, 1, WindowReport { slow_start_threshold: None, ..window_report(32) });
        assert_eq!(host.outgoing(3, 1).slow_start_threshold, Some(24));
    }

    /// 30 and 24 segments are 54, so three connections have 18 each; two thresholds of 18 are 12 each.
    #[test]
    fn joining_connection_takes_equal_share() {
        let mut host = host(true);
        for id in [1, 2] {
            host.opens(0, 1, id, Opener::Peer);
            while host.cache().poll_share().is_some() {}
        }
        samples(&mut host, &[(1, 30), (2, 24)]);
        let advice = host.opens(1, 1, 3, Opener::Peer);
        assert_eq!(advice.window, Some(18));
        assert_eq!(advice.slow_start_threshold, Some(12));
        let share = |id| {
            let connection = ConnectionId(id);
            Some(Share { connection, window: 18, slow_start_threshold: Some(12) })
        };
        assert_eq!(host.cache().poll_share(), share(1));
        assert_eq!(host.cache().poll_share(), share(2));
        assert_eq!(host.cache().poll_share(), None);
    }

    /// Of 10 segments three connections have 4, 3 and 3; of one segment there is no rest, because each must
    /// have one.
    #[test]
    fn remainder_stays_with_open_connections() {
        for (sum, shares) in [([6, 4], [4, 3, 3]), ([1, 0], [1, 1, 1])] {
            let mut host = host(true);
            for id in [1, 2] {
                host.opens(0, 1, id, Opener::Peer);
                while host.cache().poll_share().is_some() {}
            }
            samples(&mut host, &[(1, sum[0]), (2, sum[1])]);
            let newcomer = host.opens(1, 1, 3, Opener::Peer).window;
            let others = std::iter::from_fn(|| host.cache().poll_share()).map(|share| share.window);
            assert_eq!(others.chain(newcomer).collect::<Vec<_>>(), shares);
        }
    }

    #[test]
    fn ended_connection_is_not_shared() {
        let mut host = host(true);
        host.opens(0, 1, 1, Opener::Peer);
        host.cache().on_over(peer(1), ConnectionId(1));
        assert_eq!(host.cache().companions(peer(1)), []);
        assert_eq!(host.opens(1, 1, 2, Opener::Peer).window, None);
    }

    #[test]
    fn temporal_sharing_ignores_open_connections() {
        let mut host = host(false);
        host.opens(0, 1, 1, Opener::Peer);
        assert_eq!(host.cache().companions(peer(1)), []);
    }

    #[test]
    fn shared_initial_window_is_bounded() {
        let shared = TcbSharingConfig { ensemble: true, largest_window: Some(12) };
        let mut host = Host::new(&Sharing::usual(PolicyConfig::TcbSharing(shared)));
        host.ends(1, 1, window_report(32));
        assert_eq!(host.outgoing(2, 1).window, Some(12));
    }

    #[test]
    fn oldest_peer_is_replaced() {
        let shared = TcbSharingConfig { ensemble: false, largest_window: None };
        let usual = Sharing::usual(PolicyConfig::TcbSharing(shared));
        let mut host = Host::new(&Sharing { entries: 2, ..usual });
        for (second, number) in [(3, 1), (1, 2), (2, 3)] {
            host.ends(second, number, window_report(10));
        }
        let peers: Vec<_> =
            host.cache().list(Instant::from_secs(4)).iter().map(|one| one.peer).collect();
        assert_eq!(peers, [peer(1), peer(3)]);
    }
}
