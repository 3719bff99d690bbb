//! A tiny web server and client (RFC 9112, as far as a transfer needs it).

use super::host::{Application, ConnectionId, LiveHost, Stream};
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

/// Between two tries to reach a server.
const PAUSE: Span = Span::from_millis(100);
/// Bytes that are read or written at once.
const PORTION: usize = 1 << 16;

/// The body of that many bytes that [`HttpServer`] sends: no two stretches of it are alike.
pub fn body(bytes: usize) -> Vec<u8> {
    let words = (0_u64..).map(|place| place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (place >> 3));
    words.flat_map(u64::to_le_bytes).take(bytes).collect()
}

/// A connection of the server.
#[derive(Debug, Default)]
struct Exchange {
    request: Vec<u8>,
    answer: Option<Vec<u8>>,
    written: usize,
    closed: bool,
}

/// Answers `GET /N` with [`body`] of N bytes, and `POST` with the number of bytes that came.
#[derive(Debug)]
pub struct HttpServer {
    port: u16,
    exchanges: BTreeMap<ConnectionId, Exchange>,
    /// Most bytes read at a time.
    appetite: u32,
}

impl HttpServer {
    /// Listens on `port`.
    pub fn new(port: u16) -> Self {
        Self { port, exchanges: BTreeMap::new(), appetite: 1 << 20 }
    }
}

impl Application for HttpServer {
    fn tend(&mut self, _: Instant, host: &mut LiveHost) {
        host.listen(self.port);
    }

    fn serve(&mut self, now: Instant, id: ConnectionId, stream: &mut Stream) {
        let exchange = self.exchanges.entry(id).or_default();
        loop {
            let read = stream.read(now, self.appetite);
            if read.is_empty() {
                break;
            }
            exchange.request.extend(read);
        }
        if exchange.answer.is_none() {
            exchange.answer = answer(&exchange.request);
        }
        let Some(answer) = &exchange.answer else {
            if stream.is_at_end() && !exchange.closed {
                exchange.closed = true;
                stream.close();
            }
            return;
        };
        while exchange.written < answer.len() {
            let end = answer.len().min(exchange.written + PORTION);
            match stream.write(&answer[exchange.written..end]) {
                0 => return,
                taken => exchange.written += taken,
            }
        }
        if !exchange.closed {
            exchange.closed = true;
            stream.close();
        }
    }

    /// A server has never done all; it ends with the program that asks it.
    fn is_done(&self) -> bool {
        true
    }
}

/// The whole answer to a request, once that is complete.
fn answer(request: &[u8]) -> Option<Vec<u8>> {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&request[..end]).into_owned();
    let received = request.len() - end - 4;
    let mut words = head.split_whitespace();
    let (method, target) = (words.next()?, words.next().unwrap_or("/"));
    let body = match method {
        "GET" => target.trim_start_matches('/').parse().ok().map(body),
        "POST" if received < content_length(&head)? => return None,
        "POST" => Some(format!("{received}").into_bytes()),
        _ => None,
    };
    let (status, body) = match body {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    Some([head.into_bytes(), body].concat())
}

fn content_length(head: &str) -> Option<usize> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    })
}

/// Asks a server of the kernel for `GET target`, and keeps what it answers.
#[derive(Debug)]
pub struct HttpClient {
    port: u16,
    request: Vec<u8>,
    written: usize,
    answer: Vec<u8>,
    /// Most bytes read at a time; few make the window shrink.
    appetite: u32,
    id: Option<ConnectionId>,
    /// When to try again at the earliest.
    again: Instant,
    done: bool,
    broken: bool,
}

impl HttpClient {
    /// Asks for `target` at `port`.
    pub fn new(port: u16, target: &str) -> Self {
        Self {
            port,
            request: format!("GET {target} HTTP/1.0\r\nHost: kernel\r\n\r\n").into_bytes(),
            written: 0,
            answer: Vec::new(),
            appetite: 1 << 20,
            id: None,
            again: Instant::ZERO,
            done: false,
            broken: false,
        }
    }

    /// The body of the answer, once it is whole.
    pub fn body(&self) -> Option<&[u8]> {
        let end = self.answer.windows(4).position(|four| four == b"\r\n\r\n")?;
        (self.done && !self.broken).then(|| &self.answer[end + 4..])
    }
}

impl Application for HttpClient {
    /// Tries again where nobody listens yet.
    fn tend(&mut self, now: Instant, host: &mut LiveHost) {
        if self.id.is_none() && now >= self.again && !self.done {
            self.id = Some(host.connect(now, self.port));
            self.again = now + PAUSE;
        }
    }

    fn serve(&mut self, now: Instant, _: ConnectionId, stream: &mut Stream) {
        if stream.broken().is_some() {
            self.id = None;
            self.broken = stream.is_established();
            self.done = self.broken;
            return;
        }
        if stream.is_established() && self.written < self.request.len() {
            self.written += stream.write(&self.request[self.written..]);
        }
        loop {
            let read = stream.read(now, self.appetite);
            if read.is_empty() {
                break;
            }
            self.answer.extend(read);
        }
        if stream.is_at_end() {
            stream.close();
            self.done = true;
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }
}
