//! What a group's applications write.

use fairwind_scenario::{Distribution, IpVersion, MessageSize, Varying, Workload};
use fairwind_units::{ByteCount, Span};
use fairwind_workload::{Application, Client, Exchanges, Greedy, Sampler, Server, Thin};

/// The headers of a group's packets, which decide how much payload a packet of a given size holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headers {
    pub(crate) ip_version: IpVersion,
    pub(crate) timestamps: bool,
}

/// The application of the side that opens the connection.
pub(crate) fn application(workload: &Workload, headers: Headers, seed: u64) -> Application {
    match workload {
        Workload::Greedy { volume } => Application::Greedy(Greedy::new(volume.map(ByteCount::get))),
        Workload::Thin { size, interval } => {
            let payload = match size {
                MessageSize::Payload(size) => sampler(size, ByteCount::get),
                MessageSize::Packet(size) => sampler(size, |bytes| payload_bytes(bytes, headers)),
            };
            let interval = sampler(interval, Span::as_nanos);
            Application::Thin(Thin::new(payload, interval, seed))
        }
        Workload::RequestResponse { .. } => {
            let exchanges = exchanges(workload, seed).expect("the workload has some");
            Application::Client(Box::new(Client::new(exchanges)))
        }
    }
}

/// The application of the other side, where it writes anything. With the same seed it knows what the
/// opening side will ask for.
pub(crate) fn answering_application(workload: &Workload, seed: u64) -> Option<Application> {
    exchanges(workload, seed).map(|exchanges| Application::Server(Box::new(Server::new(exchanges))))
}

fn exchanges(workload: &Workload, seed: u64) -> Option<Exchanges> {
    let Workload::RequestResponse { request, response, think_time, pause, exchanges } = workload
    else {
        return None;
    };
    let size = |size| sampler(size, ByteCount::get);
    let time = |time| sampler(time, Span::as_nanos);
    let endless = Exchanges::new(size(request), size(response), seed)
        .with_times(time(think_time), time(pause));
    Some(match exchanges {
        Some(most) => endless.limited_to(u64::from(*most)),
        None => endless,
    })
}

fn payload_bytes(packet: ByteCount, headers: Headers) -> u64 {
    MessageSize::payload_of_packet(packet, headers.ip_version, headers.timestamps).get()
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
