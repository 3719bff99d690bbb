//! System calls: results, errors and waiting.

use super::{after_accept, failure, run};
use fairwind_packetdrill::Outcome;

#[test]
fn wrong_result_or_error_fails() {
    let message = failure(after_accept("+0 write(4, ..., 100) = 99\n"));
    assert!(message.contains("the result: expected 99, seen 100"), "{message}");
    let message = failure(after_accept("+0 recv(4, ..., 100, MSG_DONTWAIT) = -1 EPIPE (No)\n"));
    assert!(message.contains("expected -1 EPIPE, seen -1 EAGAIN"), "{message}");
    let message = failure(run("0 close(3) = 0\n"));
    assert!(message.contains("expected 0, seen -1 EBADF"), "{message}");
}

#[test]
fn a_call_that_waits_needs_an_end() {
    assert!(failure(after_accept("+0 read(4, ..., 100) = 0\n")).contains("the call waits"));
}

#[test]
fn blocking_call_is_verified_when_it_returns() {
    let script = |end: &str| {
        after_accept(&format!(
            "+0...{end} read(4, ..., 9) = 9\n+.5 < P. 1:10(9) ack 1 win 512\n+0 > . 1:1(0) ack 10\n"
        ))
    };
    assert_eq!(script("0.5"), Outcome::Passed);
    let message = failure(script("0.7"));
    assert!(message.starts_with("test.pkt:8: the time: expected 0.8 s, seen 0.6 s"), "{message}");
    let message = failure(script("0.3"));
    assert!(message.starts_with("test.pkt:8: the time: expected 0.4 s, seen 0.6 s"), "{message}");
    let message = failure(after_accept("+0...1 read(4, ..., 9) = 9\n"));
    assert!(message.contains("has not returned in time"), "{message}");
}

#[test]
fn only_one_call_waits_at_a_time() {
    let message = failure(after_accept("+0...1 read(4, ..., 9) = 9\n+.1 close(4) = 0\n"));
    assert!(message.contains("the call of line 8 has not returned yet"), "{message}");
}

#[test]
fn write_waits_for_send_buffer() {
    let script = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 setsockopt(3, SOL_SOCKET, SO_SNDBUF, [1000], 4) = 0
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 4000 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
+.1 < . 1:1(0) ack 1 win 4000
+0 accept(3, ..., ...) = 4
+0...0.1 write(4, ..., 5000) = 5000
+0 > P. 1:2001(2000) ack 1
+0 > P. 2001:4001(2000) ack 1
+.1 < . 1:1(0) ack 4001 win 4000
+0 > P. 4001:5001(1000) ack 1
+0 send(4, ..., 6000, MSG_DONTWAIT) = 2000
+0 > P. 5001:7001(2000) ack 1
+0 send(4, ..., 3000, MSG_DONTWAIT) = -1 EAGAIN (Resource temporarily unavailable)
+0 ioctl(4, SIOCOUTQ, [3000]) = 0
";
    assert_eq!(run(script), Outcome::Passed);
}

#[test]
fn messages_and_vectors_count_their_buffers() {
    let script = "\
+0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 30}, {..., 70}], msg_flags=0}, 0) = 100
+0 > P. 1:101(100) ack 1
+.1 < P. 1:51(50) ack 101 win 512
+0 > . 101:101(0) ack 51
+0 recv(4, ..., 20, MSG_PEEK) = 20
+0 readv(4, [{..., 20}, {..., 20}], 2) = 40
+0 read(4, ..., 20) = 10
+0 writev(4, [{..., 5}, {..., 5}], 2) = 10
+0 > P. 101:111(10) ack 51
+0 sendto(4, ..., 10, MSG_NOSIGNAL, ..., ...) = 10
+.1 < . 51:51(0) ack 111 win 512
+0 > P. 111:121(10) ack 51
";
    assert_eq!(after_accept(script), Outcome::Passed);
}

#[test]
fn blocking_connect_fails_when_refused() {
    let script = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...0.1 connect(3, ..., ...) = -1 ECONNREFUSED (Connection refused)
+0 > S 0:0(0) <...>
+.1 < R. 0:0(0) ack 1 win 0
";
    assert_eq!(run(script), Outcome::Passed);
}

#[test]
fn abandoned_connection_fails_with_etimedout() {
    let script = "\
`sysctl -q net.ipv4.tcp_syn_retries=1 net.ipv4.tcp_syn_linear_timeouts=0`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...3 connect(3, ..., ...) = -1 ETIMEDOUT (Connection timed out)
+0 > S 0:0(0) <...>
+1 > S 0:0(0) <...>
+2 close(3) = 0
";
    assert_eq!(run(script), Outcome::Passed);
}
