//! Applications of a group.

use crate::AssemblyError;
use fairwind_scenario::{
    Burst, Distribution, IpVersion, MessageSize, Quantile, RecordedWrite, TIMESTAMP_BYTES,
    Transport, Varying, Workload,
};
use fairwind_units::{ByteCount, Span};
use fairwind_workload::{
    Application, BurstLength, Caller, Client, Exchanges, Greedy, OnOff, Pace, Pages, Provider,
    Quantiles, Relay, Replay, Sampler, Server, Steady, Thin, Transfer, Write,
};

/// The headers of a group's packets, which decide how much payload a packet of a given size holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headers {
    pub(crate) ip_version: IpVersion,
    pub(crate) timestamps: bool,
    pub(crate) transport: Transport,
    /// Bytes of the largest packet.
    pub(crate) mtu: u64,
}

impl Headers {
    /// Bytes of a packet without payload.
    fn bytes(self) -> u64 {
        let options = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
        match self.transport {
            Transport::Tcp => self.ip_version.header_bytes() + options,
            Transport::Udp => self.ip_version.datagram_header_bytes(),
        }
    }

    /// Bytes of the packets, one or more, for a write of this size.
    fn packets_of(self, payload: u64) -> u64 {
        let room = self.mtu.saturating_sub(self.bytes()).max(1);
        payload + payload.div_ceil(room).max(1) * self.bytes()
    }
}

/// The applications of a group before each gets its seed.
#[derive(Debug)]
pub(crate) struct Prototypes {
    /// The application of the side that opens the connection.
    pub(crate) opening: Application,
    /// The application of the other side, where it writes anything. With the same seed it knows what the
    /// opening side will ask for.
    pub(crate) answering: Option<Application>,
    /// Nanoseconds from the end of a connection to the next one, where they follow one another.
    pub(crate) pause: Sampler,
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
        return Ok(Prototypes { opening, answering: Some(answering), pause: NO_PAUSE });
    }
    if let Workload::Transfers { volume, request, pause, .. } = workload {
        let (volume, request) =
            (sampler(volume, ByteCount::get)?, sampler(request, ByteCount::get)?);
        let transfer = Transfer::new(request, volume, 0);
        let opening = Application::Caller(Box::new(Caller::new(transfer.clone())));
        let answering = Application::Provider(Box::new(Provider::new(transfer)));
        let pause = sampler(pause, Span::as_nanos)?;
        return Ok(Prototypes { opening, answering: Some(answering), pause });
    }
    Ok(Prototypes { opening: one_way(workload, headers)?, answering: None, pause: NO_PAUSE })
}

const NO_PAUSE: Sampler = Sampler::Constant(0);

fn one_way(workload: &Workload, headers: Headers) -> Result<Application, AssemblyError> {
    Ok(match workload {
        Workload::Greedy { volume } => Application::Greedy(Greedy::new(volume.map(ByteCount::get))),
        Workload::Thin { size, interval, transport: _ } => {
            let payload = match size {
                MessageSize::Payload(size) => sampler(size, ByteCount::get)?,
                MessageSize::Packet(size) => payload_sampler(size, headers)?,
            };
            let interval = sampler(interval, Span::as_nanos)?;
            Application::Thin(Thin::new(payload, interval, 0))
        }
        Workload::OnOff { burst, off, pace } => {
            let length = match burst {
                Burst::Time(time) => BurstLength::Time(sampler(time, Span::as_nanos)?),
                Burst::Volume(volume) => BurstLength::Volume(sampler(volume, ByteCount::get)?),
            };
            let silence = sampler(off, Span::as_nanos)?;
            let pace = pace.map(|pace| Pace::new(pace.message.get(), pace.message, pace.rate));
            Application::OnOff(Box::new(OnOff::new(length, silence, pace, 0)))
        }
        Workload::Constant { rate, size, transport: _ } => {
            let (payload, packet) = constant(size, headers);
            Application::Steady(Box::new(Steady::new(Pace::new(payload, packet, *rate))))
        }
        Workload::Replay { writes, transport: _ } => {
            let write = |write: &RecordedWrite| Write { after: write.at, bytes: write.size.get() };
            Application::Replay(Box::new(Replay::new(writes.iter().map(write).collect())))
        }
        Workload::Relay { of: _, buffer } => Application::Relay(Box::new(Relay::new(buffer.get()))),
        Workload::RequestResponse { .. } | Workload::Web(_) | Workload::Transfers { .. } => {
            unreachable!("it is answered")
        }
    })
}

fn exchanges(workload: &Workload) -> Result<Option<Exchanges>, AssemblyError> {
    let size = |size| sampler(size, ByteCount::get);
    let time = |time| sampler(time, Span::as_nanos);
    let (endless, most) = match workload {
        Workload::RequestResponse { request, response, think_time, pause, exchanges } => {
            let endless = Exchanges::new(size(request)?, size(response)?, 0)
                .with_times(time(think_time)?, time(pause)?);
            (endless, exchanges)
        }
        Workload::Web(web) => {
            let drawn = Pages {
                main: size(&web.main_object)?,
                embedded_objects: sampler(&web.embedded_objects, u64::from)?,
                embedded: size(&web.embedded_object)?,
                parsing: time(&web.parsing_time)?,
                reading: time(&web.reading_time)?,
            };
            (Exchanges::of_pages(size(&web.request)?, drawn, 0), &web.pages)
        }
        _ => return Ok(None),
    };
    Ok(Some(match most {
        Some(most) => endless.limited_to(u64::from(*most)),
        None => endless,
    }))
}

/// Payload of a message that is always the same, and bytes of the IP packets that it makes.
fn constant(size: &MessageSize, headers: Headers) -> (u64, ByteCount) {
    let (MessageSize::Payload(written) | MessageSize::Packet(written)) = size;
    let written = written.smallest_or_mean().unwrap_or(ByteCount::new(1));
    match size {
        MessageSize::Payload(_) => {
            (written.get(), ByteCount::new(headers.packets_of(written.get())))
        }
        MessageSize::Packet(_) => (payload_bytes(written, headers), written),
    }
}

fn payload_bytes(packet: ByteCount, headers: Headers) -> u64 {
    let payload = match headers.transport {
        Transport::Tcp => {
            MessageSize::payload_of_packet(packet, headers.ip_version, headers.timestamps)
        }
        Transport::Udp => MessageSize::payload_of_datagram(packet, headers.ip_version),
    };
    payload.get()
}

/// Distribution of the payload, for a given distribution of packet lengths.
fn payload_sampler(
    packet: &Varying<ByteCount>,
    headers: Headers,
) -> Result<Sampler, AssemblyError> {
    match packet {
        // Of these, a law of the same kind.
        Varying::Constant(_)
        | Varying::Drawn(Distribution::Uniform { .. } | Distribution::Empirical { .. }) => {
            sampler(packet, |bytes| payload_bytes(bytes, headers))
        }
        Varying::Drawn(_) => Ok(sampler(packet, ByteCount::get)?.less(headers.bytes())),
    }
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
