//! Which flow passes on the data of which.

use fairwind_assembly::FlowPlan;
use fairwind_measure::{Collector, FlowId, Observation};
use fairwind_units::Instant;

/// The pairs of connections that relays join; empty where there are none.
#[derive(Debug, Default)]
pub(crate) struct Relays {
    /// By flow: the one that passes its data on.
    onward: Vec<Option<u32>>,
    /// By flow: the one whose data it passes on.
    relayed: Vec<Option<u32>>,
}

impl Relays {
    /// The pairs among `plans`.
    pub(crate) fn of(plans: &[FlowPlan]) -> Self {
        if plans.iter().all(|plan| plan.relays.is_none()) {
            return Self::default();
        }
        let relayed = plans.iter().map(|plan| plan.relays.map(|flow| flow.0)).collect();
        let mut onward = vec![None; plans.len()];
        for plan in plans {
            if let Some(FlowId(first)) = plan.relays {
                onward[first as usize] = Some(plan.flow.0);
            }
        }
        Self { onward, relayed }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.relayed.is_empty()
    }

    /// The flow that passes on what flow `number` brings.
    pub(crate) fn onward(&self, number: u32) -> Option<u32> {
        self.onward.get(number as usize).copied().flatten()
    }

    /// The flow whose data flow `number` passes on.
    pub(crate) fn relayed(&self, number: u32) -> Option<u32> {
        self.relayed.get(number as usize).copied().flatten()
    }

    /// Tells that the application of flow `number` has written up to `end_offset`: on that flow, and on all that pass its
    /// data on. What a relay writes itself is told of nobody.
    #[cold]
    pub(crate) fn tell_written(
        &self,
        collector: &mut Collector,
        number: u32,
        end_offset: u64,
        now: Instant,
    ) {
        if self.relayed(number).is_some() {
            return;
        }
        let mut carrying = Some(number);
        while let Some(number) = carrying {
            collector.observe(now, Observation::Written { flow: FlowId(number), end_offset });
            carrying = self.onward(number);
        }
    }
}
