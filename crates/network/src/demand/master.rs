//! The master: what terminals have asked for, and whose the slots of the coming frames are.
//!
//! Source: ETSI EN 301 790 for the categories and their order: CRA before RBDC before VBDC and AVBDC before FCA.

use super::CapacityRequest;
use fairwind_qdisc::{Carrier, Terminal};
use fairwind_units::Instant;

/// The slots of one terminal in every frame of a plan, by why it has them.
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

/// What the master knows of a terminal.
#[derive(Debug)]
struct Account {
    guaranteed: u32,
    /// The most that it may have beside what is guaranteed.
    room: u32,
    takes_free: bool,
    /// Slots asked for by rate, beside those guaranteed, and until when.
    by_rate: u32,
    rate_until: Instant,
    /// Bytes asked for and not yet assigned.
    volume: u64,
}

/// The master of a carrier.
#[derive(Debug)]
pub(super) struct Master {
    carrier: Carrier,
    slot_bytes: u64,
    accounts: Vec<Account>,
    /// Who is first where slots cannot be shared equally; goes round.
    first: usize,
}

impl Master {
    pub(super) fn new(carrier: Carrier, terminals: &[Terminal]) -> Self {
        let account = |terminal: &Terminal| {
            let most = terminal.max_slots(carrier.slots);
            Account {
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

    /// Takes what terminal `index` asks for.
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

    /// Whether every plan from now on is what is guaranteed and what nobody asked for.
    pub(super) fn is_at_rest(&self, at: Instant) -> bool {
        let rests = |account: &Account| {
            account.volume == 0 && (account.by_rate == 0 || account.rate_until <= at)
        };
        // Free slots that cannot be shared equally go round.
        self.accounts.iter().all(rests) && self.accounts.iter().all(|account| !account.takes_free)
    }

    /// Whose the slots are of every frame until the next plan.
    pub(super) fn plan(&mut self, at: Instant) -> Vec<SlotShare> {
        let mut shares: Vec<SlotShare> = self
            .accounts
            .iter()
            .map(|account| SlotShare { guaranteed: account.guaranteed, ..SlotShare::default() })
            .collect();
        let guaranteed: u32 = self.accounts.iter().map(|account| account.guaranteed).sum();
        let mut free = self.carrier.slots.saturating_sub(guaranteed);

        let by_rate = |account: &Account| {
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

    /// Leaves out so many plans, which change nothing but whose turn it is.
    pub(super) fn skip(&mut self, plans: u64) {
        let count = self.accounts.len().max(1);
        let turns = usize::try_from(plans % u64::try_from(count).unwrap_or(1)).unwrap_or(0);
        self.first = (self.first + turns) % count;
    }

    /// How many frames a plan of `at` holds for: those that begin once it has been heard and before the next one has.
    /// None, now and then, where plans are more frequent than frames.
    fn frames_of_plan(&self, at: Instant) -> u64 {
        let heard = at + self.carrier.signalling_delay;
        self.frames_before(heard + self.carrier.allocation_period) - self.frames_before(heard)
    }

    /// How many frames begin before `at`.
    fn frames_before(&self, at: Instant) -> u64 {
        let since_first = at.as_nanos().saturating_sub(self.carrier.frame_offset.as_nanos());
        since_first.div_ceil(self.carrier.frame.as_nanos().max(1))
    }

    /// Slots of every one of so many frames that carry `bytes` together, rounded up.
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

    /// Gives of `free` slots to everybody what is wanted, or else the same to all who want more than that; what is
    /// then left of it goes round, one each.
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

#[cfg(test)]
mod tests {
    use super::super::{CapacityRequest, VolumeRequest};
    use super::*;
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
    fn what_is_guaranteed_comes_first_then_rates_then_volumes_then_what_is_free() {
        let mut master =
            Master::new(carrier(), &[terminal(1, false), terminal(2, false), terminal(0, true)]);
        master.hear(Instant::ZERO, 0, &rate(4));
        // 5000 bytes in two frames are three slots of each, 6000 bytes.
        master.hear(Instant::ZERO, 1, &volume(5_000, false));
        let plan = master.plan(Instant::from_millis(1));
        assert_eq!(slots(&plan), [[1, 3, 0, 0], [2, 0, 3, 0], [0, 0, 0, 1]]);
        // The volume is served, the rate holds on.
        let plan = master.plan(Instant::from_millis(161));
        assert_eq!(slots(&plan), [[1, 3, 0, 0], [2, 0, 0, 0], [0, 0, 0, 4]]);
        // And has expired after 320 ms.
        let plan = master.plan(Instant::from_millis(321));
        assert_eq!(slots(&plan), [[1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 7]]);
    }

    #[test]
    fn volumes_add_up_or_replace_each_other() {
        let mut master = Master::new(carrier(), &[terminal(0, false), terminal(0, false)]);
        for _ in 0..2 {
            master.hear(Instant::ZERO, 0, &volume(3_000, false));
            master.hear(Instant::ZERO, 1, &volume(3_000, true));
        }
        // 6000 bytes are three slots in each of two frames; 3000 are two.
        assert_eq!(slots(&master.plan(Instant::ZERO)), [[0, 0, 3, 0], [0, 0, 2, 0]]);
    }

    #[test]
    fn those_who_want_most_share_equally_and_the_odd_slot_goes_round() {
        let mut master = Master::new(carrier(), &[terminal(0, false); 3]);
        for (index, wanted) in [1, 9, 9].into_iter().enumerate() {
            master.hear(Instant::ZERO, index, &rate(wanted));
        }
        let by_rate =
            |plan: Vec<SlotShare>| plan.iter().map(|share| share.by_rate).collect::<Vec<_>>();
        assert_eq!(by_rate(master.plan(Instant::ZERO)), [1, 5, 4]);
        assert_eq!(by_rate(master.plan(Instant::ZERO)), [1, 5, 4]);
        assert_eq!(by_rate(master.plan(Instant::ZERO)), [1, 4, 5]);
    }

    #[test]
    fn a_volume_is_settled_by_the_frames_of_its_plan_and_stands_where_it_has_none() {
        let period = Span::from_millis(30);
        let mut master =
            Master::new(Carrier { allocation_period: period, ..carrier() }, &[terminal(0, false)]);
        master.hear(Instant::ZERO, 0, &volume(10_000, false));
        // Heard at 250, 280, 310, 340, 370 and 400 ms, each for 30 ms; frames begin at 320 and 400.
        let by_volume = (0..7)
            .map(|plan| master.plan(Instant::from_millis(30 * plan))[0].by_volume)
            .collect::<Vec<_>>();
        assert_eq!(by_volume, [0, 0, 8, 0, 0, 2, 0]);

        let period = Span::from_millis(120);
        let mut master =
            Master::new(Carrier { allocation_period: period, ..carrier() }, &[terminal(0, false)]);
        // Heard at 250 and 370: for the frame at 320, and for those at 400 and 480.
        master.hear(Instant::ZERO, 0, &volume(11_000, false));
        let by_volume = [0, 120, 240].map(|at| master.plan(Instant::from_millis(at))[0].by_volume);
        assert_eq!(by_volume, [8, 2, 0]);
    }

    #[test]
    fn nobody_gets_more_than_it_may_have() {
        let mut master = Master::new(carrier(), &[terminal(1, true)]);
        master.hear(Instant::ZERO, 0, &rate(20));
        assert_eq!(slots(&master.plan(Instant::ZERO)), [[1, 7, 0, 0]]);
    }
}
