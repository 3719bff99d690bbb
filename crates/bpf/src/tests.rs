//! Tests of the tracepoints on the running kernel, against the kernel's own counters.

use super::{Connection, EndpointEvents, EndpointWatch, RawEvent, availability};
use fairwind_assembly::Sink;
use fairwind_kernel_testing::live::{HttpClient, Impairments, IpFamily, LiveOptions, converse};
use fairwind_linux as linux;
use fairwind_measure::{FlowId, Observation};
use fairwind_tcp::Profile;
use fairwind_units::{Instant, Ratio, Span};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

const PORT: u16 = 8000;
/// Bytes of a body that recovers now and then where 2 % are lost.
const BODY: usize = 1 << 20;

/// Counts of reported events, by kind.
#[derive(Debug, Default)]
struct ReportedEvents {
    timeouts: u64,
    fast_retransmits: u64,
    samples: u64,
    max_window: u32,
    last: Instant,
    is_out_of_order: bool,
}

impl Sink for ReportedEvents {
    fn observe(&mut self, at: Instant, observation: Observation<'_>) {
        self.is_out_of_order |= at < self.last;
        self.last = at;
        match observation {
            Observation::Timeout { .. } => self.timeouts += 1,
            Observation::FastRetransmit { .. } => self.fast_retransmits += 1,
            Observation::Endpoint { cwnd_packets, .. } => {
                self.samples += 1;
                self.max_window = self.max_window.max(cwnd_packets);
            }
            _ => {}
        }
    }
}

/// The kernel's counters of a whole conversation.
#[derive(Debug)]
struct KernelCounters {
    timeouts: u64,
    recoveries: u64,
    /// Segments that came before the application closed.
    segments: u64,
}

fn is_available(test: &str) -> bool {
    let obstacle = fairwind_kernel_packetdrill::availability().map_err(|error| error.to_string());
    let obstacle = obstacle.and_then(|()| availability().map_err(|error| error.to_string()));
    fairwind_kernel_testing::can_run(test, obstacle.err())
}

fn namespace_of_this_thread() -> u32 {
    let inode = std::fs::metadata("/proc/thread-self/ns/net").expect("procfs").ino();
    inode.try_into().expect("inodes of namespaces are small")
}

fn watch(stream: &TcpStream, facts: EndpointEvents) -> EndpointWatch {
    let connection = Connection {
        flow: FlowId(0),
        namespace: namespace_of_this_thread(),
        local: stream.local_addr().expect("an address"),
        remote: stream.peer_addr().expect("an address"),
    };
    EndpointWatch::new(&[connection], facts).expect("a watch")
}

/// A number of `/proc/net/netstat` of this thread's namespace.
fn counter(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/netstat").expect("procfs");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("TcpExt:")).collect();
    let place = lines[0].split(' ').position(|word| word == name).expect("a counter");
    lines[1].split(' ').nth(place).expect("a value").parse().expect("a number")
}

/// `struct tcp_info`.
fn information(stream: &TcpStream) -> [u8; 256] {
    let mut information = [0; 256];
    let descriptor = stream.as_raw_fd();
    linux::get_option(descriptor, libc::IPPROTO_TCP, libc::TCP_INFO, &mut information);
    information
}

/// `tcpi_total_rto`.
fn total_timeouts(stream: &TcpStream) -> u64 {
    RawEvent(&information(stream)).u16(240).into()
}

/// `tcpi_segs_in`.
fn segments_in(stream: &TcpStream) -> u64 {
    RawEvent(&information(stream)).u32(140).into()
}

fn accept(address: SocketAddr) -> TcpStream {
    let listener = TcpListener::bind(address).expect("a listener");
    linux::wait_readable(&[&listener], Span::from_secs(10));
    listener.set_nonblocking(true).expect("an option");
    let (stream, _) = listener.accept().expect("a connection");
    stream.set_nonblocking(false).expect("an option");
    for limit in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
        limit(&stream, Some(Duration::from_secs(30))).expect("an option");
    }
    stream
}

/// Lets the kernel send a body over a way that loses packets, and watches it.
fn kernel_sends(ip: IpFamily, facts: EndpointEvents) -> (ReportedEvents, KernelCounters) {
    let config = Profile::Linux6_18.config();
    let impairments = Impairments {
        delay: Span::from_millis(5),
        loss: Ratio::from_parts_per_billion(20_000_000),
        seed: 3,
        ..Impairments::default()
    };
    let options = LiveOptions { impairments, ..LiveOptions::new(ip, config) };
    let mut client = HttpClient::new(PORT, "/");
    converse(&options, &mut client, |ends| {
        let mut stream = accept(SocketAddr::new(ends.kernel, PORT));
        let mut watch = watch(&stream, facts);
        let unwatched = segments_in(&stream);
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).expect("a request");
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n").expect("to be sent");
        let mut reported = ReportedEvents::default();
        for part in vec![0; BODY].chunks(BODY / 16) {
            stream.write_all(part).expect("to be sent");
            watch.read(Duration::ZERO, &mut reported).expect("events");
        }
        let segments = segments_in(&stream) - unwatched;
        stream.shutdown(std::net::Shutdown::Write).expect("to be closed");
        // The client closes when it has everything, and so everything has been acknowledged.
        let _ = stream.read(&mut request);
        let recoveries = counter("TCPSackRecovery") + counter("TCPRenoRecovery");
        let counted = KernelCounters { timeouts: total_timeouts(&stream), recoveries, segments };
        watch.finish(&mut reported).expect("events");
        assert_eq!(watch.missed(), 0);
        (reported, counted)
    })
    .expect("a conversation")
}

#[test]
fn recoveries_and_timeouts_match_kernel_counters() {
    if !is_available("recoveries_and_timeouts_match_kernel_counters") {
        return;
    }
    for ip in [IpFamily::V4, IpFamily::V6] {
        let facts = EndpointEvents { recovery: true, ..EndpointEvents::default() };
        let (reported, counted) = kernel_sends(ip, facts);
        assert!(counted.recoveries > 0, "nothing was lost: the test shows nothing");
        assert_eq!(
            (reported.fast_retransmits, reported.timeouts),
            (counted.recoveries, counted.timeouts)
        );
        assert!(!reported.is_out_of_order);
        assert_eq!(reported.samples, 0);
    }
}

#[test]
fn window_is_reported_at_every_ack() {
    if !is_available("window_is_reported_at_every_ack") {
        return;
    }
    let facts = EndpointEvents { acknowledgments: true, ..EndpointEvents::default() };
    let (reported, counted) = kernel_sends(IpFamily::V4, facts);
    assert!(
        reported.samples >= counted.segments && counted.segments > 10,
        "{reported:?}, {counted:?}"
    );
    assert!(reported.max_window >= 10, "{reported:?}");
    assert!(!reported.is_out_of_order);
}
