//! Random carriers, with slots that some links have.

use fairwind_network::{CarrierAccess, CarrierId, LinkSpec, Topology};
use fairwind_qdisc::{Carrier, Placement, RequestPolicy, Terminal};
use fairwind_units::{BitRate, Ratio, Span};
use proptest::prelude::*;

/// A carrier, and which of ten links have slots of it.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    carrier: Carrier,
    terminals: Vec<Option<Terminal>>,
}

impl Shared {
    /// Puts those of the links on the carrier that have slots of it.
    pub(crate) fn apply(&self, topology: &mut Topology, specs: &mut [LinkSpec]) {
        let carrier: CarrierId = topology.add_carrier(self.carrier);
        for (spec, terminal) in specs.iter_mut().zip(&self.terminals) {
            if let Some(terminal) = *terminal {
                spec.rate = None;
                spec.rate_trace = None;
                spec.carrier_access = Some(CarrierAccess { carrier, terminal });
            }
        }
    }
}

/// Any carrier with frames of about the time in which packets come.
pub(crate) fn any_carrier() -> impl Strategy<Value = Shared> {
    let carrier = (1_u64..30, 10_u32..14, 1_u64..40, 1_u64..40, 0_u64..50, 1_000_u64..500_000);
    let places =
        (0_u64..1_000_000, prop::sample::select(vec![Placement::Together, Placement::Spread]));
    let carrier = (carrier, places).prop_map(
        |((frame, slots, request, plan, signalling, rate), (offset, placement))| Carrier {
            frame: Span::from_millis(frame),
            slots,
            slot_rate: BitRate::from_bits_per_second(rate * 100),
            request_period: Span::from_millis(request),
            allocation_period: Span::from_millis(plan),
            signalling_delay: Span::from_millis(signalling),
            request_lifetime: Span::from_millis(request * 2),
            frame_offset: Span::from_nanos(offset),
            placement,
        },
    );
    let links = prop::collection::vec(prop::option::of(any_terminal()), 10);
    let all = (carrier, links).prop_map(|(carrier, terminals)| Shared { carrier, terminals });
    // A slot carries something at any frame.
    all.prop_filter("slots of no byte", |shared| shared.carrier.slot_bytes() > 0)
}

fn any_terminal() -> impl Strategy<Value = Terminal> {
    let double = Ratio::from_parts_per_billion(2_000_000_000);
    let (lasts, idle) = (Span::from_millis(100), Span::from_millis(50));
    let requests = prop::sample::select(vec![
        RequestPolicy::None,
        RequestPolicy::Rbdc { multiplier: double },
        RequestPolicy::RbdcStart { multiplier: double, lasts, idle },
        RequestPolicy::Vbdc,
        RequestPolicy::Avbdc,
        RequestPolicy::RbdcVbdc { multiplier: double },
        RequestPolicy::Forecast { round_trip: Span::from_millis(40) },
    ]);
    (0_u32..2, 0_u32..5, any::<bool>(), requests).prop_map(
        |(guaranteed_slots, most, takes_free, requests)| Terminal {
            guaranteed_slots,
            most_slots: if most == 0 { 0 } else { most + guaranteed_slots },
            takes_free,
            requests,
        },
    )
}
