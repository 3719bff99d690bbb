//! How terminals ask for capacity.

mod forecast;

use super::master::SlotShare;
use super::{CapacityRequest, VolumeRequest};
use fairwind_qdisc::{Carrier, RequestPolicy, Terminal};
use fairwind_units::{BitRate, Instant, Ratio, Span};
use forecast::Forecast;

/// What a terminal knows when it asks.
pub(super) struct View {
    pub(super) at: Instant,
    /// Bytes that came since it asked last.
    pub(super) arrived: u64,
    /// Bytes that wait or are being sent.
    pub(super) backlog: u64,
}

/// One way of asking, with what it remembers.
pub(super) struct Policy {
    period: Span,
    slot_bytes: u64,
    way: Way,
}

enum Way {
    Never,
    Rate { multiplier: Ratio },
    RateAtStart(Start),
    Volume { outstanding: u64 },
    AbsoluteVolume,
    Forecast(Box<Forecast>),
}

/// Since when a connection starts, as far as a queue can tell.
struct Start {
    multiplier: Ratio,
    lasts: Span,
    idle: Span,
    began: Option<Instant>,
    last_arrival: Option<Instant>,
}

impl Policy {
    pub(super) fn new(carrier: &Carrier, terminal: &Terminal) -> Self {
        let way = match terminal.requests {
            RequestPolicy::None => Way::Never,
            RequestPolicy::Rbdc { multiplier } => Way::Rate { multiplier },
            RequestPolicy::RbdcStart { multiplier, lasts, idle } => {
                Way::RateAtStart(Start { multiplier, lasts, idle, began: None, last_arrival: None })
            }
            RequestPolicy::Vbdc => Way::Volume { outstanding: 0 },
            RequestPolicy::Avbdc => Way::AbsoluteVolume,
            RequestPolicy::Forecast { round_trip } => {
                Way::Forecast(Box::new(Forecast::new(carrier, terminal, round_trip)))
            }
        };
        Self { period: carrier.request_period, slot_bytes: u64::from(carrier.slot_bytes()), way }
    }

    pub(super) fn arrive(&mut self, at: Instant, bytes: u64) {
        match &mut self.way {
            Way::RateAtStart(start) => start.arrive(at),
            Way::Forecast(forecast) => forecast.arrive(bytes),
            _ => {}
        }
    }

    pub(super) fn depart(&mut self, bytes: u64) {
        if let Way::Forecast(forecast) = &mut self.way {
            forecast.depart(bytes);
        }
    }

    pub(super) fn begin_frame(&mut self, share: &SlotShare) {
        match &mut self.way {
            Way::Volume { outstanding } => {
                let assigned = u64::from(share.by_volume) * self.slot_bytes;
                *outstanding = outstanding.saturating_sub(assigned);
            }
            Way::Forecast(forecast) => forecast.begin_frame(share.slots()),
            _ => {}
        }
    }

    pub(super) fn ask(&mut self, view: &View) -> CapacityRequest {
        let volume = |bytes, replaces| CapacityRequest {
            rate: None,
            volume: Some(VolumeRequest { bytes, replaces })
                .filter(|asked| asked.bytes > 0 || replaces),
        };
        match &mut self.way {
            Way::Never => CapacityRequest::default(),
            Way::Rate { multiplier } => measured(view.arrived, *multiplier, self.period),
            Way::RateAtStart(start) => {
                measured(view.arrived, start.multiplier_at(view.at), self.period)
            }
            Way::Volume { outstanding } => {
                let bytes = view.backlog.saturating_sub(*outstanding);
                *outstanding += bytes;
                volume(bytes, false)
            }
            Way::AbsoluteVolume => volume(view.backlog, true),
            Way::Forecast(forecast) => {
                CapacityRequest { rate: Some(forecast.rate(view.backlog)), volume: None }
            }
        }
    }

    pub(super) fn is_at_rest(&self) -> bool {
        match &self.way {
            Way::Volume { outstanding } => *outstanding == 0,
            Way::Forecast(forecast) => forecast.is_at_rest(),
            _ => true,
        }
    }
}

/// The rate at which `bytes` came within `period`, some times over.
fn measured(bytes: u64, multiplier: Ratio, period: Span) -> CapacityRequest {
    let nanobits =
        u128::from(bytes) * 8_000_000_000 * u128::from(multiplier.as_parts_per_billion());
    let rate = nanobits / (u128::from(period.as_nanos()).max(1) * 1_000_000_000);
    let rate = BitRate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX));
    CapacityRequest { rate: Some(rate), volume: None }
}

impl Start {
    fn arrive(&mut self, at: Instant) {
        let is_beginning =
            self.last_arrival.is_none_or(|last| at.saturating_since(last) > self.idle);
        if is_beginning {
            self.began = Some(at);
        }
        self.last_arrival = Some(at);
    }

    fn multiplier_at(&self, at: Instant) -> Ratio {
        let starts = self.began.is_some_and(|began| at.saturating_since(began) <= self.lasts);
        if starts { self.multiplier } else { Ratio::ONE }
    }
}
