//! What a group's applications write.

use crate::AssemblyError;
use fairwind_scenario::{Distribution, IpVersion, MessageSize, Quantile, Varying, Workload};
use fairwind_units::{ByteCount, Span};
use fairwind_workload::{Application, Client, Exchanges, Greedy, Quantiles, Sampler, Server, Thin};

/// The headers of a group's packets, which decide how much payload a packet of a given size holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headers {
    pub(crate) ip_version: IpVersion,
    pub(crate) timestamps: bool,
}

/// The applications of a group before each gets a seed of its own.
#[derive(Debug)]
pub(crate) struct Prototypes {
    /// The application of the side that opens the connection.
    pub(crate) opening: Application,
    /// The application of the other side, where it writes anything. With the same seed it knows what the
    /// opening side will ask for.
    pub(crate) answering: Option<Application>,
}

/// The applications that `workload` describes.
///
/// # Errors
/// A distribution that there cannot be; a checked scenario has none.
pub(crate) fn prototypes(
    workload: &Workload,
    headers: Headers,
) -> Result<Prototypes, AssemblyError> {
    if let Some(exchanges) = exchanges(workload)? {
        let opening = Application::Client(Box::new(Client::new(exchanges.clone())));
        let answering = Application::Server(Box::new(Server::new(exchanges)));
        return Ok(Prototypes { opening, answering: Some(answering) });
    }
    Ok(Prototypes { opening: one_way(workload, headers)?, answering: None })
}

fn one_way(workload: &Workload, headers: Headers) -> Result<Application, AssemblyError> {
    Ok(match workload {
        Workload::Greedy { volume } => Application::Greedy(Greedy::new(volume.map(ByteCount::get))),
        Workload::Thin { size, interval, transport: _ } => {
            let payload = match size {
                MessageSize::Payload(size) => sampler(size, ByteCount::get)?,
                MessageSize::Packet(size) => sampler(size, |bytes| payload_bytes(bytes, headers))?,
            };
            let interval = sampler(interval, Span::as_nanos)?;
            Application::Thin(Thin::new(payload, interval, 0))
        }
        Workload::RequestResponse { .. } => unreachable!("it is answered"),
    })
}

fn exchanges(workload: &Workload) -> Result<Option<Exchanges>, AssemblyError> {
    let Workload::RequestResponse { request, response, think_time, pause, exchanges } = workload
    else {
        return Ok(None);
    };
    let size = |size| sampler(size, ByteCount::get);
    let time = |time| sampler(time, Span::as_nanos);
    let endless = Exchanges::new(size(request)?, size(response)?, 0)
        .with_times(time(think_time)?, time(pause)?);
    Ok(Some(match exchanges {
        Some(most) => endless.limited_to(u64::from(*most)),
        None => endless,
    }))
}

fn payload_bytes(packet: ByteCount, headers: Headers) -> u64 {
    MessageSize::payload_of_packet(packet, headers.ip_version, headers.timestamps).get()
}

/// The law that `varying` describes; `whole` makes a number of a quantity.
#[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds below 2^53")]
fn sampler<T: Copy>(
    varying: &Varying<T>,
    whole: impl Fn(T) -> u64,
) -> Result<Sampler, AssemblyError> {
    let distribution = match varying {
        Varying::Constant(value) => return Ok(Sampler::Constant(whole(*value))),
        Varying::Drawn(distribution) => distribution,
    };
    let number = |value: &T| whole(*value) as f64;
    Ok(match distribution {
        Distribution::Uniform { min, max } => {
            Sampler::Uniform { least: number(min), greatest: number(max) }
        }
        Distribution::Normal { mean, deviation } => {
            // A deviation is a difference: headers do not reduce it.
            Sampler::Normal { mean: number(mean), deviation: number(deviation) }
        }
        Distribution::Exponential { mean } => Sampler::Exponential { mean: number(mean) },
        Distribution::Pareto { min, shape } => {
            Sampler::Pareto { least: number(min), shape: *shape }
        }
        Distribution::BoundedPareto { min, max, shape } => {
            Sampler::bounded_pareto(number(min), number(max), *shape)
        }
        Distribution::Lognormal { mean, deviation, min, max } => {
            let (least, greatest) = (min.as_ref().map_or(0.0, number), max.as_ref().map(number));
            Sampler::lognormal(number(mean), number(deviation), least, greatest)
        }
        Distribution::Empirical { quantiles, mean } => {
            let point = |point: &Quantile<T>| (point.share.as_f64(), number(&point.value));
            let points: Vec<_> = quantiles.iter().map(point).collect();
            let law = Quantiles::new(&points)?;
            Sampler::quantiles(match mean {
                Some(mean) => law.with_mean(number(mean))?,
                None => law,
            })
        }
    })
}
