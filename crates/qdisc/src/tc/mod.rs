//! Queue disciplines in the syntax of `tc`: read as people write it, and printed as commands.
//!
//! Sources: tc(8) and the page of each discipline. There are two forms. A *chain* is one line, in which `/` leads from
//! a discipline or class to what it holds; devices, handles and parents are left out:
//!
//! ```text
//! htb rate 5mbit burst 1520 / pfifo limit 63
//! prio / pfifo limit 20 / fq_codel / sfq
//! htb default 20 / class 1:10 rate 4mbit ceil 5mbit match group thin / fq_codel / class 1:20 rate 1mbit
//! ```
//!
//! Every part goes into the deepest place that is still open: a class, the child of a tbf or red, the next band of a
//! prio. *Commands* are what one would type, one per line or separated by `;`, with `tc` or without:
//!
//! ```text
//! tc qdisc add dev eth0 root handle 1: htb default 20
//! tc class add dev eth0 parent 1: classid 1:10 htb rate 4mbit
//! tc filter add dev eth0 parent 1: u32 match ip dport 443 0xffff flowid 1:10
//! ```
//!
//! Numbers have the units of `tc`: rates in `kbit`, `mbit` (powers of 1000) or `kbps`, `mbps` (bytes), a bare number in
//! bits per second; sizes in `b`, `k` or `kb` (1024), `m` or `mb`, a bare number in bytes; times in `s`, `ms`, `us`, a
//! bare number in microseconds. A few words are ours, since `tc` has no such thing: `unlimited`, `gentle` of red,
//! `granularity` of tbf and htb, `match group NAME`.
//!
//! Modules: `words` (a text as words and numbers), `disciplines` (what follows a discipline's name), `syntax` (the two
//! forms), `draft` (what stands where, and the tree of it), `hfsc` (its curves), `netem`, `print`.

mod disciplines;
mod draft;
mod hfsc;
mod netem;
mod print;
mod syntax;
pub(crate) mod words;

pub(crate) use disciplines::KINDS;
pub use disciplines::supported_alternative;
pub use netem::{Netem, parse_netem, print_loss};
pub use print::{commands, kernel_commands};
pub use words::{TcError, nearest, suggestion};

use crate::Qdisc;
use fairwind_units::BitRate;

/// Reads a chain or commands. `bandwidth` is that of the link, from which red and choke compute by default.
///
/// # Errors
/// The first thing that is wrong, with its place.
///
/// ```
/// use fairwind_qdisc::tc;
/// let queue = tc::parse("tbf rate 1mbit burst 2k latency 50ms", "10 Mbit/s".parse()?)?;
/// assert_eq!(queue.shaped_rate(), Some("1 Mbit/s".parse()?));
/// let error = tc::parse("codel target 5 msec", "10 Mbit/s".parse()?).unwrap_err();
/// assert_eq!(error.to_string(), "column 16: \"msec\" is not a parameter of codel; known are limit, target, interval, ecn, \
///     noecn, ce_threshold");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse(text: &str, bandwidth: BitRate) -> Result<Qdisc, TcError> {
    let draft = if syntax::is_script(text) {
        syntax::read_commands(text, bandwidth)?
    } else {
        syntax::read_chain(text, bandwidth)?
    };
    draft::assemble(&draft)
}
