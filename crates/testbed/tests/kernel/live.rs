//! Our endpoint in conversation with the running kernel, bytes verified.

use super::is_available;
use fairwind_kernel_testing::live::{
    Ends, HttpClient, HttpServer, Impairments, IpFamily, LiveOptions, body, converse,
};
use fairwind_tcp::{Config, Profile};
use fairwind_units::{Ratio, Span};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::time::Duration;

const PORT: u16 = 8000;
const MIB: usize = 1 << 20;

fn config() -> Config {
    Profile::Linux6_18.config()
}

fn percent(share: u64) -> Ratio {
    Ratio::from_parts_per_billion(share * 10_000_000)
}

/// A way that loses, delays, reorders and doubles.
fn rough() -> Impairments {
    Impairments {
        delay: Span::from_millis(5),
        loss: percent(2),
        reordering: percent(5),
        detour: Span::from_millis(3),
        duplication: percent(2),
        seed: 7,
        ..Impairments::default()
    }
}

fn url(address: IpAddr, target: &str) -> String {
    match address {
        IpAddr::V4(address) => format!("http://{address}:{PORT}/{target}"),
        IpAddr::V6(address) => format!("http://[{address}]:{PORT}/{target}"),
    }
}

fn curl(arguments: &[&str]) -> Output {
    let fixed = ["--silent", "--show-error", "--globoff", "--noproxy", "*", "--max-time", "50"];
    Command::new("curl").args(fixed).args(arguments).output().expect("curl is there")
}

/// Lets `curl` fetch from a server that is our endpoint.
fn curl_fetches(options: &LiveOptions, bytes: usize) {
    let fetch = |ends: Ends| curl(&[&url(ends.ours, &bytes.to_string())]);
    let mut server = HttpServer::new(PORT);
    let output = converse(options, &mut server, fetch).expect("a conversation");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout == body(bytes), "{} bytes came, not all right", output.stdout.len());
}

/// A connection, if one comes in time: nobody ends a program that waits for ever.
fn accept_soon(listener: &TcpListener) -> std::io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    for _ in 0..1000 {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::park_timeout(Duration::from_millis(10));
            }
            Err(error) => return Err(error),
        }
    }
    Err(std::io::ErrorKind::TimedOut.into())
}

/// A server of the kernel for one request, which sends the body and closes.
fn serve_once(ends: Ends, bytes: usize) -> std::io::Result<()> {
    let listener = TcpListener::bind((ends.kernel, PORT))?;
    let mut stream = accept_soon(&listener)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut portion = [0; 1024];
        let read = stream.read(&mut portion)?;
        assert!(read > 0, "the request ends early");
        request.extend_from_slice(&portion[..read]);
    }
    stream.set_write_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n")?;
    stream.write_all(&body(bytes))
}

/// Fetches with our endpoint from a server of the kernel.
fn our_endpoint_fetches(options: &LiveOptions, bytes: usize) {
    let mut client = HttpClient::new(PORT, "/");
    converse(options, &mut client, |ends| serve_once(ends, bytes))
        .expect("a conversation")
        .expect("a server");
    let fetched = client.body().expect("a whole answer");
    assert!(fetched == body(bytes), "{} bytes came, not all right", fetched.len());
}

#[test]
fn curl_fetches_from_our_endpoint() {
    if is_available("curl_fetches_from_our_endpoint") {
        curl_fetches(&LiveOptions::new(IpFamily::V4, config()), 20 * MIB);
    }
}

#[test]
fn curl_fetches_from_our_endpoint_over_ipv6() {
    if is_available("curl_fetches_from_our_endpoint_over_ipv6") {
        curl_fetches(&LiveOptions::new(IpFamily::V6, config()), 20 * MIB);
    }
}

#[test]
fn curl_fetches_over_lossy_path() {
    if is_available("curl_fetches_over_lossy_path") {
        for ip in [IpFamily::V4, IpFamily::V6] {
            let options = LiveOptions { impairments: rough(), ..LiveOptions::new(ip, config()) };
            curl_fetches(&options, 2 * MIB);
        }
    }
}

#[test]
fn curl_posts_over_lossy_path() {
    if !is_available("curl_posts_over_lossy_path") {
        return;
    }
    let impairments = Impairments { seed: 11, ..rough() };
    let options = LiveOptions { impairments, ..LiveOptions::new(IpFamily::V4, config()) };
    let post = |ends: Ends| {
        let mut process = Command::new("curl")
            .args(["--silent", "--show-error", "--noproxy", "*", "--max-time", "50"])
            .args(["--header", "Expect:", "--data-binary", "@-", &url(ends.ours, "")])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("curl is there");
        let mut input = process.stdin.take().expect("a pipe");
        input.write_all(&body(2 * MIB)).expect("curl reads");
        drop(input);
        process.wait_with_output().expect("curl ends")
    };
    let output = converse(&options, &mut HttpServer::new(PORT), post).expect("a conversation");
    assert_eq!(String::from_utf8_lossy(&output.stdout), (2 * MIB).to_string());
}

#[test]
fn our_endpoint_fetches_from_the_kernel() {
    if is_available("our_endpoint_fetches_from_the_kernel") {
        for ip in [IpFamily::V4, IpFamily::V6] {
            our_endpoint_fetches(&LiveOptions::new(ip, config()), 20 * MIB);
        }
    }
}

#[test]
fn endpoint_fetches_from_kernel_over_lossy_path() {
    if is_available("endpoint_fetches_from_kernel_over_lossy_path") {
        let options =
            LiveOptions { impairments: rough(), ..LiveOptions::new(IpFamily::V6, config()) };
        our_endpoint_fetches(&options, 2 * MIB);
    }
}

#[test]
fn tiny_window_reader_gets_every_byte() {
    if !is_available("tiny_window_reader_gets_every_byte") {
        return;
    }
    // Ours is tiny ...
    let small = Config { receive_buffer: 2048, ..config() };
    our_endpoint_fetches(&LiveOptions::new(IpFamily::V4, small), MIB / 4);
    // ... and the kernel's is.
    let fetch = |ends: Ends| -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect((ends.ours, PORT))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.write_all(format!("GET /{} HTTP/1.0\r\n\r\n", MIB / 4).as_bytes())?;
        let mut answer = Vec::new();
        let mut portion = [0; 700];
        loop {
            match stream.read(&mut portion)? {
                0 => return Ok(answer),
                read => answer.extend_from_slice(&portion[..read]),
            }
        }
    };
    let options = LiveOptions::new(IpFamily::V4, config());
    let limited = |ends: Ends| {
        // The least that every kernel takes.
        let tiny = "sysctl -q net.ipv4.tcp_rmem='4096 4096 4096'";
        let done = Command::new("sh").args(["-c", tiny]).status().expect("a shell");
        assert!(done.success());
        fetch(ends)
    };
    let answer = converse(&options, &mut HttpServer::new(PORT), limited)
        .expect("a conversation")
        .expect("an answer");
    assert!(answer.ends_with(&body(MIB / 4)), "{} bytes", answer.len());
}

#[test]
fn a_port_without_listener_refuses() {
    if !is_available("a_port_without_listener_refuses") {
        return;
    }
    let options = LiveOptions::new(IpFamily::V4, config());
    let knock = |ends: Ends| TcpStream::connect((ends.ours, PORT + 1)).map(|_| ());
    let refused = converse(&options, &mut HttpServer::new(PORT), knock).expect("a conversation");
    let error = refused.expect_err("nobody is there");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}
