//! DAMA: capacity assigned on demand (DVB-RCS). Terminals request, a scheduler plans, slots follow.
//!
//! A request leaves at every multiple of the request period and reaches the scheduler after the signalling delay. At every
//! multiple of the allocation period the scheduler plans from the requests it has heard; a plan holds from the first frame
//! that begins after it arrives until the next plan. Within a frame a terminal's slots follow one another, in the order of
//! terminals, so its packets come in bursts; or they are spread over the frame.
//!
//! Nothing here is in the event queue: a link with something to send looks for its next slot, and the first look
//! brings the carrier up to date, which no arrival can have changed.

mod request;
mod scheduler;

use crate::LinkId;
use crate::observer::{CapacityRequest, Observer, SlotAssignment};
use fairwind_qdisc::{Carrier, Terminal};
use fairwind_units::{Instant, Span};
use request::{Policy, RequestContext};
use scheduler::{SlotScheduler, SlotSet, SlotShare};
use std::collections::VecDeque;

/// Counters of a terminal's slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SlotCounters {
    /// Slots in frames that have begun.
    pub assigned: u64,
    /// Slots in which it sent.
    pub used: u64,
}

/// A carrier and its terminals.
pub(crate) struct SharedCarrier {
    spec: Carrier,
    terminals: Vec<TerminalState>,
    scheduler: SlotScheduler,
    /// Requests on their way to the scheduler: when they arrive, of which terminal.
    asked: VecDeque<(Instant, usize, CapacityRequest)>,
    /// Plans on their way to the terminals: when they arrive.
    plans: VecDeque<(Instant, Vec<SlotShare>)>,
    /// The plan from the next frame on.
    plan_in_force: Vec<SlotShare>,
    next_request: Instant,
    next_plan: Instant,
    /// Start of the current frame, if any, and of the next one.
    frame: Instant,
    next_frame: Instant,
}

impl SharedCarrier {
    pub(crate) fn new(spec: Carrier, terminals: &[(LinkId, Terminal)]) -> Self {
        let specs: Vec<Terminal> = terminals.iter().map(|(_, terminal)| *terminal).collect();
        let at_work =
            |(link, terminal): &(LinkId, Terminal)| TerminalState::new(*link, &spec, terminal);
        let guaranteed = |terminal: &Terminal| SlotShare {
            guaranteed: terminal.guaranteed_slots,
            ..SlotShare::default()
        };
        Self {
            spec,
            terminals: terminals.iter().map(at_work).collect(),
            scheduler: SlotScheduler::new(spec, &specs),
            asked: VecDeque::new(),
            plans: VecDeque::new(),
            plan_in_force: specs.iter().map(guaranteed).collect(),
            // Nothing was measured before the start.
            next_request: Instant::ZERO + spec.request_period,
            next_plan: Instant::ZERO,
            frame: Instant::ZERO,
            next_frame: Instant::ZERO + spec.frame_offset,
        }
    }

    /// Bytes per slot.
    pub(crate) fn slot_bytes(&self) -> u32 {
        self.spec.slot_bytes()
    }

    pub(crate) fn counters(&self, terminal: usize) -> SlotCounters {
        self.terminals[terminal].counters
    }

    /// Bytes arrive at a terminal; the carrier is up to date at this instant.
    pub(crate) fn arrive(&mut self, terminal: usize, at: Instant, bytes: u64) {
        self.terminals[terminal].arrive(at, bytes);
    }

    /// A terminal sends bytes in a slot.
    pub(crate) fn depart(&mut self, terminal: usize, bytes: u64) {
        self.terminals[terminal].depart(bytes);
    }

    /// A terminal's bytes were dropped.
    pub(crate) fn forget(&mut self, terminal: usize, bytes: u64) {
        self.terminals[terminal].forget(bytes);
    }

    pub(crate) fn use_slot(&mut self, terminal: usize) {
        self.terminals[terminal].counters.used += 1;
    }

    /// End of the slot of `terminal` that begins at `at`; `None` if none does.
    pub(crate) fn slot_at(&self, terminal: usize, at: Instant) -> Option<Instant> {
        let slot = self.first_slot_from(at);
        let is_own = self.terminals[terminal].slots.next_from(slot) == Some(slot);
        (is_own && self.slot_start(slot) == at).then(|| self.slot_start(slot + 1))
    }

    /// When the next slot of `terminal` after `at`, or the next frame, begins.
    pub(crate) fn next_look(&self, terminal: usize, at: Instant) -> Instant {
        let slot = self.first_slot_from(at + Span::from_nanos(1));
        match self.terminals[terminal].slots.next_from(slot) {
            Some(slot) => self.slot_start(slot),
            None => self.next_frame,
        }
    }

    /// The first slot of the current frame that begins at `at` or later.
    fn first_slot_from(&self, at: Instant) -> u32 {
        let nanos = u128::from(at.saturating_since(self.frame).as_nanos());
        let slot = (nanos * u128::from(self.spec.slots))
            .div_ceil(u128::from(self.spec.frame.as_nanos()).max(1));
        u32::try_from(slot).unwrap_or(u32::MAX)
    }

    /// Start of a slot of the current frame.
    fn slot_start(&self, slot: u32) -> Instant {
        let nanos = u128::from(self.spec.frame.as_nanos()) * u128::from(slot)
            / u128::from(self.spec.slots.max(1));
        self.frame + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Performs everything due up to `now`: in order of time, and at one instant in order of cause and effect.
    pub(crate) fn catch_up<P, O: Observer<P>>(&mut self, now: Instant, observer: &mut O) {
        loop {
            let asked = self.asked.front().map_or(Instant::MAX, |(at, ..)| *at);
            let planned = self.plans.front().map_or(Instant::MAX, |(at, _)| *at);
            let periodic = self.next_request.min(self.next_plan).min(self.next_frame);
            let due = periodic.min(asked).min(planned);
            if due > now || now == Instant::MAX {
                return;
            }
            if self.is_at_rest(due) && self.next_frame <= now {
                self.rest_until(now, observer);
            } else if self.next_request == due {
                self.request(due, observer);
            } else if asked == due {
                self.hear(due);
            } else if self.next_plan == due {
                self.plan(due);
            } else if planned == due {
                self.plan_in_force = self.plans.pop_front().map_or_else(Vec::new, |(_, plan)| plan);
            } else {
                self.begin_frames(1, observer);
            }
        }
    }

    fn request<P, O: Observer<P>>(&mut self, at: Instant, observer: &mut O) {
        self.next_request += self.spec.request_period;
        for (index, terminal) in self.terminals.iter_mut().enumerate() {
            let ask = terminal.ask(at);
            if ask != CapacityRequest::default() {
                // Whether empty requests are made depends on how often the carrier is brought up to date.
                if !ask.is_for_nothing() {
                    observer.on_request(at, terminal.link, &ask);
                }
                self.asked.push_back((at + self.spec.signalling_delay, index, ask));
            }
        }
    }

    fn hear(&mut self, at: Instant) {
        if let Some((_, terminal, ask)) = self.asked.pop_front() {
            self.scheduler.hear(at, terminal, &ask);
        }
    }

    fn plan(&mut self, at: Instant) {
        self.next_plan += self.spec.allocation_period;
        let plan = self.scheduler.plan(at);
        self.plans.push_back((at + self.spec.signalling_delay, plan));
    }

    /// Begins the next frames, `frames` of them with the same slots.
    fn begin_frames<P, O: Observer<P>>(&mut self, frames: u64, observer: &mut O) {
        let begin = self.next_frame;
        self.place();
        for (terminal, share) in self.terminals.iter_mut().zip(&self.plan_in_force) {
            terminal.begin_frame(*share, frames);
            let assignment = SlotAssignment {
                frames,
                frame: self.spec.frame,
                slot_bytes: self.spec.slot_bytes(),
                guaranteed: share.guaranteed,
                by_rate: share.by_rate,
                by_volume: share.by_volume,
                free: share.free,
            };
            observer.on_assignment(begin, terminal.link, &assignment);
        }
        self.next_frame = begin + self.spec.frame.saturating_mul(frames);
        self.frame = begin + self.spec.frame.saturating_mul(frames - 1);
    }

    /// Places the slots of the next frame, if they differ from the current one.
    fn place(&mut self) {
        let unchanged = |(terminal, share): (&TerminalState, &SlotShare)| {
            terminal.share.slots() == share.slots()
        };
        if self.terminals.iter().zip(&self.plan_in_force).all(unchanged) {
            return;
        }
        let shares: Vec<u32> = self.plan_in_force.iter().map(SlotShare::slots).collect();
        let places = scheduler::places(self.spec.placement, self.spec.slots, &shares);
        for (terminal, slots) in self.terminals.iter_mut().zip(places) {
            terminal.slots = slots;
        }
    }

    /// Whether every frame equals the next one until a packet arrives.
    fn is_at_rest(&self, at: Instant) -> bool {
        let is_plain =
            |plan: &Vec<SlotShare>| plan.iter().all(|share| share.slots() == share.guaranteed);
        self.terminals.iter().all(TerminalState::is_at_rest)
            && self.asked.iter().all(|(_, _, ask)| ask.is_for_nothing())
            && self.scheduler.is_at_rest(at)
            && is_plain(&self.plan_in_force)
            && self.plans.iter().all(|(_, plan)| is_plain(plan))
    }

    /// Skips all frames up to `now` at once.
    fn rest_until<P, O: Observer<P>>(&mut self, now: Instant, observer: &mut O) {
        let periods =
            |from: Instant, period: Span| match now.as_nanos().checked_sub(from.as_nanos()) {
                Some(nanos) => nanos / period.as_nanos().max(1) + 1,
                None => 0,
            };
        let frames = periods(self.next_frame, self.spec.frame);
        self.begin_frames(frames.max(1), observer);
        let requests = periods(self.next_request, self.spec.request_period);
        self.next_request += self.spec.request_period.saturating_mul(requests);
        let plans = periods(self.next_plan, self.spec.allocation_period);
        self.next_plan += self.spec.allocation_period.saturating_mul(plans);
        self.scheduler.skip(plans);
        // Pending requests are empty, and pending plans equal the current one.
        self.asked.retain(|(at, ..)| *at > now);
        self.plans.retain(|(at, _)| *at > now);
    }
}

/// State of a terminal.
struct TerminalState {
    link: LinkId,
    policy: Policy,
    /// Bytes that arrived since the last request.
    arrived: u64,
    /// Bytes that wait or are being sent.
    backlog: u64,
    /// Its slots of the current frame.
    slots: SlotSet,
    share: SlotShare,
    counters: SlotCounters,
}

impl TerminalState {
    fn new(link: LinkId, carrier: &Carrier, spec: &Terminal) -> Self {
        Self {
            link,
            policy: Policy::new(carrier, spec),
            arrived: 0,
            backlog: 0,
            slots: SlotSet::default(),
            share: SlotShare::default(),
            counters: SlotCounters::default(),
        }
    }

    fn arrive(&mut self, at: Instant, bytes: u64) {
        self.policy.arrive(at, bytes);
        self.arrived += bytes;
        self.backlog += bytes;
    }

    /// Bytes were sent.
    fn depart(&mut self, bytes: u64) {
        self.policy.depart(bytes);
        self.backlog = self.backlog.saturating_sub(bytes);
    }

    /// Bytes were dropped.
    fn forget(&mut self, bytes: u64) {
        self.backlog = self.backlog.saturating_sub(bytes);
    }

    /// Requests capacity and restarts the measurement.
    fn ask(&mut self, at: Instant) -> CapacityRequest {
        let view = RequestContext { at, arrived: self.arrived, backlog: self.backlog };
        self.arrived = 0;
        self.policy.ask(&view)
    }

    /// Frames with this share of slots begin.
    fn begin_frame(&mut self, share: SlotShare, frames: u64) {
        self.policy.begin_frame(share.slots(), share.by_volume);
        self.share = share;
        self.counters.assigned += u64::from(share.slots()) * frames;
    }

    /// Whether it requests nothing until a packet arrives.
    fn is_at_rest(&self) -> bool {
        self.arrived == 0 && self.backlog == 0 && self.policy.is_at_rest()
    }
}
