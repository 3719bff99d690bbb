//! What a group's applications write.

use fairwind_scenario::{Distribution, MessageSize, Varying, Workload};
use fairwind_units::{ByteCount, Span};
use fairwind_workload::{Application, Greedy, Sampler, Thin};

/// The application that `workload` describes; `timestamps` says whether packets carry them, which
/// decides how much payload a packet of a given size holds.
pub(crate) fn application(workload: &Workload, timestamps: bool, seed: u64) -> Application {
    match workload {
        Workload::Greedy { volume } => Application::Greedy(Greedy::new(volume.map(ByteCount::get))),
        Workload::Thin { size, interval } => {
            let payload = match size {
                MessageSize::Payload(size) => sampler(size, ByteCount::get),
                MessageSize::Packet(size) => {
                    sampler(size, |bytes| MessageSize::payload_of_packet(bytes, timestamps).get())
                }
            };
            let interval = sampler(interval, Span::as_nanos);
            Application::Thin(Thin::new(payload, interval, seed))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds below 2^53")]
fn sampler<T: Copy>(varying: &Varying<T>, number: impl Fn(T) -> u64) -> Sampler {
    let whole = number;
    let number = |value| whole(value) as f64;
    match *varying {
        Varying::Constant(value) => Sampler::Constant(whole(value)),
        Varying::Drawn(Distribution::Uniform { min, max }) => {
            Sampler::Uniform { least: number(min), greatest: number(max) }
        }
        Varying::Drawn(Distribution::Normal { mean, deviation }) => {
            // A deviation is a difference: headers do not reduce it.
            Sampler::Normal { mean: number(mean), deviation: number(deviation) }
        }
        Varying::Drawn(Distribution::Exponential { mean }) => {
            Sampler::Exponential { mean: number(mean) }
        }
    }
}
