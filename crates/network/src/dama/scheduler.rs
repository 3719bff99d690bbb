//! Slot scheduler of a carrier: it plans the slots of the coming frames from the requests it has heard.
//!
//! Source: ETSI EN 301 790 for the categories and their order: CRA before RBDC before VBDC and AVBDC before FCA.

use crate::observer::CapacityRequest;
use fairwind_qdisc::{Carrier, Placement, Terminal};
use fairwind_units::Instant;
use std::ops::Range;

/// The slots of one terminal in every frame of a plan, by category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SlotShare {
    pub(super) guaranteed: u32,
    pub(super) by_rate: u32,
    pub(super) by_volume: u32,
    pub(super) free: u32,
}

impl SlotShare {
    pub(super) fn slots(&self) -> u32 {
        self.guaranteed + self.by_rate + self.by_volume + self.free
    }
}

/// State of a terminal in the scheduler.
#[derive(Debug)]
struct TerminalAccount {
    guaranteed: u32,
    /// Greatest number of slots beyond the guaranteed ones.
    room: u32,
    takes_free: bool,
    /// Slots requested by rate beyond those guaranteed, and until when.
    by_rate: u32,
    rate_until: Instant,
    /// Bytes requested and not yet assigned.
    volume: u64,
}

/// The scheduler of a carrier.
#[derive(Debug)]
pub(super) struct SlotScheduler {
    carrier: Carrier,
    slot_bytes: u64,
    accounts: Vec<TerminalAccount>,
    /// The terminal that gets the first odd slot; it rotates.
    first: usize,
}

impl SlotScheduler {
    pub(super) fn new(carrier: Carrier, terminals: &[Terminal]) -> Self {
        let account = |terminal: &Terminal| {
            let most = terminal.max_slots(carrier.slots);
            TerminalAccount {
                guaranteed: terminal.guaranteed_slots,
                room: most.saturating_sub(terminal.guaranteed_slots),
                takes_free: terminal.takes_free,
                by_rate: 0,
                rate_until: Instant::ZERO,
                volume: 0,
            }
        };
        let accounts = terminals.iter().map(account).collect();
        Self { carrier, slot_bytes: u64::from(carrier.slot_bytes()), accounts, first: 0 }
    }

    /// Notes a request of terminal `index`.
    pub(super) fn hear(&mut self, at: Instant, index: usize, ask: &CapacityRequest) {
        let account = &mut self.accounts[index];
        if let Some(rate) = ask.rate {
            account.by_rate = self.carrier.slots_for(rate).saturating_sub(account.guaranteed);
            account.rate_until = at + self.carrier.request_lifetime;
        }
        if let Some(volume) = ask.volume {
            let before = if volume.replaces { 0 } else { account.volume };
            account.volume = before.saturating_add(volume.bytes);
        }
    }

    /// Whether every plan from now on has guaranteed slots only.
    pub(super) fn is_at_rest(&self, at: Instant) -> bool {
        let rests = |account: &TerminalAccount| {
            account.volume == 0 && (account.by_rate == 0 || account.rate_until <= at)
        };
        // Free slots that cannot be shared equally rotate.
        self.accounts.iter().all(rests) && self.accounts.iter().all(|account| !account.takes_free)
    }

    /// Plans the slots of every frame until the next plan.
    pub(super) fn plan(&mut self, at: Instant) -> Vec<SlotShare> {
        let mut shares: Vec<SlotShare> = self
            .accounts
            .iter()
            .map(|account| SlotShare { guaranteed: account.guaranteed, ..SlotShare::default() })
            .collect();
        let guaranteed: u32 = self.accounts.iter().map(|account| account.guaranteed).sum();
        let mut free = self.carrier.slots.saturating_sub(guaranteed);

        let by_rate = |account: &TerminalAccount| {
            if account.rate_until > at { account.by_rate.min(account.room) } else { 0 }
        };
        let granted = self.share(free, self.accounts.iter().map(by_rate).collect());
        for (share, slots) in shares.iter_mut().zip(granted) {
            share.by_rate = slots;
            free -= slots;
        }
        let wanted = self.accounts.iter().zip(&shares);
        let frames = self.frames_of_plan(at);
        let wanted = wanted.map(|(account, share)| {
            self.slots_for_volume(account.volume, frames).min(account.room - share.by_rate)
        });
        let granted = self.share(free, wanted.collect());
        for (share, slots) in shares.iter_mut().zip(granted) {
            share.by_volume = slots;
            free -= slots;
        }
        let wanted = self.accounts.iter().zip(&shares).map(|(account, share)| {
            let room = account.room - share.by_rate - share.by_volume;
            if account.takes_free { room } else { 0 }
        });
        let granted = self.share(free, wanted.collect());
        for (share, slots) in shares.iter_mut().zip(granted) {
            share.free = slots;
        }
        self.settle_volumes(&shares, frames);
        self.skip(1);
        shares
    }

    /// Skips a number of plans, which only rotate the odd slots.
    pub(super) fn skip(&mut self, plans: u64) {
        let count = self.accounts.len().max(1);
        let turns = usize::try_from(plans % u64::try_from(count).unwrap_or(1)).unwrap_or(0);
        self.first = (self.first + turns) % count;
    }

    /// Number of frames that a plan made at `at` holds for: those that begin between its arrival and that of the next
    /// plan. It may be zero if plans are more frequent than frames.
    fn frames_of_plan(&self, at: Instant) -> u64 {
        let heard = at + self.carrier.signalling_delay;
        self.frames_before(heard + self.carrier.allocation_period) - self.frames_before(heard)
    }

    /// How many frames begin before `at`.
    fn frames_before(&self, at: Instant) -> u64 {
        let since_first = at.as_nanos().saturating_sub(self.carrier.frame_offset.as_nanos());
        since_first.div_ceil(self.carrier.frame.as_nanos().max(1))
    }

    /// Slots per frame that carry `bytes` in `frames` frames, rounded up.
    fn slots_for_volume(&self, bytes: u64, frames: u64) -> u32 {
        let in_all = bytes.div_ceil(self.slot_bytes.max(1));
        if frames == 0 {
            return 0;
        }
        u32::try_from(in_all.div_ceil(frames)).unwrap_or(u32::MAX)
    }

    fn settle_volumes(&mut self, shares: &[SlotShare], frames: u64) {
        for (account, share) in self.accounts.iter_mut().zip(shares) {
            let slots = u64::from(share.by_volume).saturating_mul(frames);
            let bytes = slots.saturating_mul(self.slot_bytes);
            account.volume = account.volume.saturating_sub(bytes);
        }
    }

    /// Shares `free` slots: each terminal gets what it wants, or an equal share if that is less; odd slots rotate.
    fn share(&self, mut free: u32, mut wanted: Vec<u32>) -> Vec<u32> {
        let mut granted = vec![0; wanted.len()];
        loop {
            let hungry = wanted.iter().filter(|wanted| **wanted > 0).count();
            let Some(each) = u32::try_from(hungry).ok().and_then(|hungry| free.checked_div(hungry))
            else {
                return granted;
            };
            if each == 0 {
                break;
            }
            for (granted, wanted) in granted.iter_mut().zip(&mut wanted) {
                let slots = each.min(*wanted);
                *granted += slots;
                *wanted -= slots;
                free -= slots;
            }
        }
        let count = wanted.len();
        for index in (0..count).map(|step| (self.first + step) % count) {
            if wanted[index] > 0 && free > 0 {
                granted[index] += 1;
                free -= 1;
            }
        }
        granted
    }
}

/// The slots of a terminal in a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SlotSet {
    /// One after another.
    Together(Range<u32>),
    /// At these positions, ascending.
    Spread(Vec<u32>),
}

impl Default for SlotSet {
    fn default() -> Self {
        Self::Together(0..0)
    }
}

impl SlotSet {
    /// The first of them that is `slot` or a later one.
    pub(super) fn next_from(&self, slot: u32) -> Option<u32> {
        match self {
            Self::Together(own) => Some(slot.max(own.start)).filter(|slot| *slot < own.end),
            Self::Spread(own) => own.get(own.partition_point(|own| *own < slot)).copied(),
        }
    }
}

/// Places the slots of each terminal in a frame of `slots`.
pub(super) fn places(placement: Placement, slots: u32, shares: &[u32]) -> Vec<SlotSet> {
    match placement {
        Placement::Together => together(shares),
        Placement::Spread => spread(slots, shares),
    }
}

fn together(shares: &[u32]) -> Vec<SlotSet> {
    let mut first = 0;
    let mut next = |share: &u32| {
        let own = first..first + share;
        first = own.end;
        SlotSet::Together(own)
    };
    shares.iter().map(&mut next).collect()
}

/// Each terminal, those with most slots first, gets the middle slots of equal parts of the frame, or the next free
/// ones.
fn spread(slots: u32, shares: &[u32]) -> Vec<SlotSet> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|&terminal| std::cmp::Reverse(shares[terminal]));
    let mut free = FreeSlots::new(slots);
    let mut places = vec![SlotSet::default(); shares.len()];
    for terminal in order {
        let share = u64::from(shares[terminal]);
        let middle = |part: u64| (2 * part + 1) * u64::from(slots) / (2 * share.max(1));
        let mut own: Vec<u32> = (0..share)
            .filter_map(|part| free.take(u32::try_from(middle(part)).unwrap_or(0)))
            .collect();
        own.sort_unstable();
        places[terminal] = SlotSet::Spread(own);
    }
    places
}

/// The free slots of a frame.
struct FreeSlots {
    /// For each slot a lower bound of the next free one: itself while it is free.
    next: Vec<usize>,
}

impl FreeSlots {
    fn new(slots: u32) -> Self {
        Self { next: (0..=usize::try_from(slots).unwrap_or(0)).collect() }
    }

    /// Takes the first free slot from `wanted` on, wrapping around.
    fn take(&mut self, wanted: u32) -> Option<u32> {
        let end = self.next.len() - 1;
        let mut slot = self.find(usize::try_from(wanted).unwrap_or(end).min(end));
        if slot == end {
            slot = self.find(0);
        }
        if slot == end {
            return None;
        }
        self.next[slot] = slot + 1;
        u32::try_from(slot).ok()
    }

    /// The first free slot from `slot` on, or the end; shortens the path for the next search.
    fn find(&mut self, slot: usize) -> usize {
        let mut found = slot;
        while self.next[found] != found {
            self.next[found] = self.next[self.next[found]];
            found = self.next[found];
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::VolumeRequest;
    use fairwind_qdisc::RequestPolicy;
    use fairwind_units::{BitRate, Span};

    /// Ten slots of 1000 bytes in a frame of 80 ms, so 100 kbit/s each; a plan for every two frames.
    fn carrier() -> Carrier {
        Carrier {
            frame: Span::from_millis(80),
            slots: 10,
            slot_rate: BitRate::from_bits_per_second(100_000),
            request_period: Span::from_millis(160),
            allocation_period: Span::from_millis(160),
            signalling_delay: Span::from_millis(250),
            request_lifetime: Span::from_millis(320),
            ..Carrier::default()
        }
    }

    fn terminal(guaranteed_slots: u32, takes_free: bool) -> Terminal {
        Terminal { guaranteed_slots, most_slots: 8, takes_free, requests: RequestPolicy::None }
    }

    fn rate(slots: u64) -> CapacityRequest {
        CapacityRequest { rate: Some(BitRate::from_bits_per_second(slots * 100_000)), volume: None }
    }

    fn volume(bytes: u64, replaces: bool) -> CapacityRequest {
        CapacityRequest { rate: None, volume: Some(VolumeRequest { bytes, replaces }) }
    }

    fn slots(plan: &[SlotShare]) -> Vec<[u32; 4]> {
        plan.iter()
            .map(|share| [share.guaranteed, share.by_rate, share.by_volume, share.free])
            .collect()
    }

    #[test]
    fn assignment_order_is_cra_rbdc_vbdc_fca() {
        let mut scheduler = SlotScheduler::new(
            carrier(),
            &[terminal(1, false), terminal(2, false), terminal(0, true)],
        );
        scheduler.hear(Instant::ZERO, 0, &rate(4));
        // 5000 bytes in two frames are three slots of each, 6000 bytes.
        scheduler.hear(Instant::ZERO, 1, &volume(5_000, false));
        let plan = scheduler.plan(Instant::from_millis(1));
        assert_eq!(slots(&plan), [[1, 3, 0, 0], [2, 0, 3, 0], [0, 0, 0, 1]]);
        // The volume is served, the rate holds on.
        let plan = scheduler.plan(Instant::from_millis(161));
        assert_eq!(slots(&plan), [[1, 3, 0, 0], [2, 0, 0, 0], [0, 0, 0, 4]]);
        // And has expired after 320 ms.
        let plan = scheduler.plan(Instant::from_millis(321));
        assert_eq!(slots(&plan), [[1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 7]]);
    }

    #[test]
    fn volumes_add_up_or_replace_each_other() {
        let mut scheduler =
            SlotScheduler::new(carrier(), &[terminal(0, false), terminal(0, false)]);
        for _ in 0..2 {
            scheduler.hear(Instant::ZERO, 0, &volume(3_000, false));
            scheduler.hear(Instant::ZERO, 1, &volume(3_000, true));
        }
        // 6000 bytes are three slots in each of two frames; 3000 are two.
        assert_eq!(slots(&scheduler.plan(Instant::ZERO)), [[0, 0, 3, 0], [0, 0, 2, 0]]);
    }

    #[test]
    fn largest_requests_share_equally_odd_slot_rotates() {
        let mut scheduler = SlotScheduler::new(carrier(), &[terminal(0, false); 3]);
        for (index, wanted) in [1, 9, 9].into_iter().enumerate() {
            scheduler.hear(Instant::ZERO, index, &rate(wanted));
        }
        let by_rate =
            |plan: Vec<SlotShare>| plan.iter().map(|share| share.by_rate).collect::<Vec<_>>();
        assert_eq!(by_rate(scheduler.plan(Instant::ZERO)), [1, 5, 4]);
        assert_eq!(by_rate(scheduler.plan(Instant::ZERO)), [1, 5, 4]);
        assert_eq!(by_rate(scheduler.plan(Instant::ZERO)), [1, 4, 5]);
    }

    #[test]
    fn volume_request_stands_until_assigned() {
        let period = Span::from_millis(30);
        let mut scheduler = SlotScheduler::new(
            Carrier { allocation_period: period, ..carrier() },
            &[terminal(0, false)],
        );
        scheduler.hear(Instant::ZERO, 0, &volume(10_000, false));
        // Heard at 250, 280, 310, 340, 370 and 400 ms, each for 30 ms; frames begin at 320 and 400.
        let by_volume = (0..7)
            .map(|plan| scheduler.plan(Instant::from_millis(30 * plan))[0].by_volume)
            .collect::<Vec<_>>();
        assert_eq!(by_volume, [0, 0, 8, 0, 0, 2, 0]);

        let period = Span::from_millis(120);
        let mut scheduler = SlotScheduler::new(
            Carrier { allocation_period: period, ..carrier() },
            &[terminal(0, false)],
        );
        // Heard at 250 and 370: for the frame at 320, and for those at 400 and 480.
        scheduler.hear(Instant::ZERO, 0, &volume(11_000, false));
        let by_volume =
            [0, 120, 240].map(|at| scheduler.plan(Instant::from_millis(at))[0].by_volume);
        assert_eq!(by_volume, [8, 2, 0]);
    }

    #[test]
    fn no_terminal_exceeds_its_maximum() {
        let mut scheduler = SlotScheduler::new(carrier(), &[terminal(1, true)]);
        scheduler.hear(Instant::ZERO, 0, &rate(20));
        assert_eq!(slots(&scheduler.plan(Instant::ZERO)), [[1, 7, 0, 0]]);
    }

    fn slot_numbers(places: &[SlotSet]) -> Vec<Vec<u32>> {
        let all = |own: &SlotSet| {
            let next = |slot: &u32| own.next_from(slot + 1);
            std::iter::successors(own.next_from(0), next).collect()
        };
        places.iter().map(all).collect()
    }

    #[test]
    fn slots_follow_order_of_terminals() {
        let placed = places(Placement::Together, 8, &[2, 0, 3]);
        assert_eq!(slot_numbers(&placed), [vec![0, 1], vec![], vec![2, 3, 4]]);
        assert_eq!(placed[2].next_from(4), Some(4));
        assert_eq!(placed[2].next_from(5), None);
    }

    #[test]
    fn spread_slots_are_equidistant_if_possible() {
        // The middles of four parts of twelve slots, and of two; one slot is taken, so the next one.
        let placed = places(Placement::Spread, 12, &[2, 4]);
        assert_eq!(slot_numbers(&placed), [vec![3, 9], vec![1, 4, 7, 10]]);
        let placed = places(Placement::Spread, 4, &[1, 1, 2]);
        assert_eq!(slot_numbers(&placed), [vec![2], vec![0], vec![1, 3]]);
    }

    #[test]
    fn full_frame_has_no_unassigned_slot() {
        let placed = slot_numbers(&places(Placement::Spread, 48, &[28, 13, 7]));
        assert_eq!(placed.iter().map(Vec::len).collect::<Vec<_>>(), [28, 13, 7]);
        let mut all: Vec<u32> = placed.concat();
        all.sort_unstable();
        assert_eq!(all, (0..48).collect::<Vec<_>>());
    }
}
