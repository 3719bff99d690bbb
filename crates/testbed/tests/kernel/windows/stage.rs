//! Control group for a test, and processes in it that send to our endpoint over a long path.

use fairwind_kernel_testing::live::{
    Application, ConnectionId, Ends, HttpClient, Impairments, IpFamily, LiveHost, LiveOptions,
    Stream, converse,
};
use fairwind_linux::{CleanupPaths, RunName};
use fairwind_tcp::Profile;
use fairwind_units::{Instant, Ratio, Span};
use fairwind_windows::stop;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const PORT: u16 = 8000;
/// One-way delay in each direction: long enough to separate one flight from the next.
const DELAY: Span = Span::from_millis(40);
/// Payload of a full packet: 1500 bytes without 40 of headers and 12 of timestamps.
pub(super) const FULL: u64 = 1448;
/// Where a process finds the folder of its group.
const GROUP: &str = "FAIRWIND_TEST_GROUP";

/// A control group that ends with this.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) path: PathBuf,
}

impl Group {
    pub(super) fn new(name: &str) -> Self {
        let root = CleanupPaths::usual().control_groups.expect("it was looked for");
        let path = root.join(RunName::fresh().of(name));
        std::fs::create_dir(&path).expect("root may");
        Self { path }
    }

    pub(super) fn number(&self) -> u64 {
        std::fs::metadata(&self.path).expect("it is there").ino()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A test that fails has not come to it.
        let _ = stop(&self.path);
        let _ = std::fs::write(self.path.join("cgroup.kill"), "1");
        for _ in 0..200 {
            if std::fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

/// This program again, for one of its tests that is part of others.
pub(super) fn again(part: &str, group: Option<&Path>) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", part, "--ignored", "--nocapture"]);
    command.env(GROUP, group.unwrap_or(Path::new("")));
    command
}

/// The folder of this process's group; none if it stays outside.
pub(super) fn group_from_environment() -> Option<PathBuf> {
    std::env::var_os(GROUP).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// A process that sends on command.
#[derive(Debug)]
pub(super) struct Sender {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Sender {
    /// In a group, or outside of any.
    pub(super) fn begin(group: Option<&Group>) -> Self {
        let part = "windows::stage::sending_process";
        let mut process = again(part, group.map(|group| group.path.as_path()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program again");
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        Self { process, input, output }
    }

    /// Sends so many full packets; how many had come before the first acknowledgment could be answered.
    pub(super) fn send(&mut self, packets: u64) -> u64 {
        self.send_with_loss(packets, 0)
    }

    /// The same over a path that loses packets, in percent.
    pub(super) fn send_with_loss(&mut self, packets: u64, loss: u64) -> u64 {
        self.send_and_watch(packets, loss).0
    }

    /// The same, with the time from the first of these packets to the last.
    pub(super) fn send_and_watch(&mut self, packets: u64, loss: u64) -> (u64, Span) {
        self.ask(packets, loss, IpFamily::V4)
    }

    /// Sends so many packets over IPv6, in which full ones are a little smaller.
    pub(super) fn send_over_ipv6(&mut self, packets: u64) -> u64 {
        self.ask(packets, 0, IpFamily::V6).0
    }

    fn ask(&mut self, packets: u64, loss: u64, family: IpFamily) -> (u64, Span) {
        let version = if family == IpFamily::V6 { 6 } else { 4 };
        writeln!(self.input, "{packets} {loss} {version}").expect("it listens");
        let mut line = String::new();
        while self.output.read_line(&mut line).expect("it speaks") > 0 {
            // The harness begins the line before the first answer.
            if let Some((_, numbers)) = line.trim_end().rsplit_once("flight ") {
                let mut numbers = numbers.split(' ').map(|word| word.parse().expect("a number"));
                let mut next = || numbers.next().expect("two numbers");
                return (next(), Span::from_micros(next()));
            }
            line.clear();
        }
        panic!("it has ended");
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "part of other tests"]
fn sending_process() {
    if let Some(group) = group_from_environment() {
        std::fs::write(group.join("cgroup.procs"), "0").expect("root may");
    }
    for line in std::io::stdin().lines() {
        let line = line.expect("a line");
        let mut words = line.split(' ').map(|word| word.parse::<u64>().expect("a number"));
        let (packets, loss) = (words.next().expect("packets"), words.next().expect("loss"));
        let is_newer = words.next().expect("a version") == 6;
        let family = if is_newer { IpFamily::V6 } else { IpFamily::V4 };
        let (packets, lasted) = flight(packets, loss, family);
        println!("flight {packets} {}", lasted.as_nanos() / 1_000);
    }
}

/// Packets of the first flight of a transfer from the kernel to our endpoint, and how long they came.
fn flight(packets: u64, loss: u64, family: IpFamily) -> (u64, Span) {
    let impairments = Impairments {
        delay: DELAY,
        loss: Ratio::from_parts_per_billion(loss * 10_000_000),
        seed: 5,
        ..Impairments::default()
    };
    let config = Profile::Linux6_18.config();
    let options = LiveOptions { impairments, ..LiveOptions::new(family, config) };
    let mut watch = FlightWatch {
        client: HttpClient::new(PORT, "/"),
        first: None,
        bytes: 0,
        lasted: Span::ZERO,
    };
    converse(&options, &mut watch, |ends| serve(ends, packets)).expect("a conversation");
    (watch.bytes / FULL, watch.lasted)
}

/// A server of the kernel that sends full packets to the first who asks, and closes.
fn serve(ends: Ends, packets: u64) {
    let listener = TcpListener::bind((ends.kernel, PORT)).expect("a listener");
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut request = [0; 1024];
    let _ = stream.read(&mut request).expect("a request");
    let mut answer = b"HTTP/1.0 200 OK\r\n\r\n".to_vec();
    answer.resize(usize::try_from(packets * FULL).expect("few"), b'x');
    stream.write_all(&answer).expect("to be sent");
    stream.shutdown(Shutdown::Write).expect("to be closed");
    // The client closes when it has everything, and so everything has been acknowledged.
    while stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {}
}

/// A client that notes how much has come half a round trip after the first of it.
struct FlightWatch {
    client: HttpClient,
    first: Option<Instant>,
    bytes: u64,
    /// From the first of it to the last.
    lasted: Span,
}

impl Application for FlightWatch {
    fn tend(&mut self, now: Instant, host: &mut LiveHost) {
        self.client.tend(now, host);
    }

    fn serve(&mut self, now: Instant, id: ConnectionId, stream: &mut Stream) {
        let received = stream.connection().received_bytes();
        if received > self.bytes {
            let first = *self.first.get_or_insert(now);
            if now < first + DELAY {
                self.bytes = received;
                self.lasted = now.saturating_since(first);
            }
        }
        self.client.serve(now, id, stream);
    }

    fn is_done(&self) -> bool {
        self.client.is_done()
    }
}
