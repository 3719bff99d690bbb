//! Packetdrill scripts: parser, runner and verification.
//!
//! A script in the packetdrill language describes a conversation: the calls of the application, the packets
//! of the peer, and the expected packets of the endpoint with their times. This crate parses such scripts, runs
//! them with a [`Connection`](fairwind_tcp::Connection), and verifies every packet. A script of a minute takes
//! a millisecond, because nothing waits.
//!
//! It touches no network, clock, file or shell: packets are values, time is virtual, and commands in back
//! quotes only change settings of the endpoint. If a script needs a feature that the endpoint does not have, the
//! outcome is [`Outcome::Unsupported`], never passed.
//!
//! ```
//! use fairwind_packetdrill::{Outcome, RunOptions, run_script};
//! use fairwind_tcp::Profile;
//!
//! let script = "
//! 0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
//! +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
//! +0 > S 0:0(0) <mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 10>
//! // Nobody answers: again after one second.
//! +1 > S 0:0(0) <...>
//! ";
//! let options = RunOptions::new(Profile::Linux6_18);
//! assert_eq!(run_script("lost-syn.pkt", script, &options), Outcome::Passed);
//! let Outcome::Failed(failure) = run_script("wrong.pkt", &script.replace("+1", "+2"), &options)
//! else { panic!("the comparison is lenient") };
//! assert_eq!(
//!     failure.to_string(),
//!     "wrong.pkt:6: the time: expected 2 s, seen 1 s (tolerance 0.25 s)"
//! );
//! ```
//!
//! Rules for packets:
//!
//! - Compared are control bits (PSH and FIN too), sequence and acknowledgment numbers, payload length, urgent
//!   pointer, and the options: kinds, order and values. `<...>` matches any options. The window is compared if
//!   the script has `win`, the ECN codepoint if it has `[...]`.
//! - `TSval` is compared if `--tcp_ts_tick_usecs` gives the tick of the clock; the tolerance of times applies.
//!   `TSecr` is compared with `--strict_echo` or `--strict`.
//! - The tolerance of a time is 4 ms (`--tolerance_usecs`) or an eighth of the time since the event before
//!   (`--tolerance_percent`), whichever is more. `+t` counts from the actual time of that event, but from its
//!   scripted time between two injected packets. The time of an expected packet is when it was verified, or
//!   with `--strict` when it was sent. Timers of a system may add its lag ([`System::lag`]): two ticks of a
//!   kernel's clock.
//! - Several segments may make up an expected packet, unless the script has `--strict_segments`. PSH and FIN
//!   belong to the last one, CWR to the first one. PSH before the last one is ignored, unless `--strict`
//!   demands the segments that segmentation produces ([`Strictness`]).
//! - An unexpected packet is an error as soon as another one is expected. [`TrailingPackets`] selects whether
//!   unexpected packets after the last event are errors.
//!
//! | module | concern |
//! |---|---|
//! | `script` | the language: lexer, parser, syntax tree, values, text form |
//! | `run` | execution: time, packets, verification, translation of numbers |
//! | `run::system` | the system under test, as a trait: our endpoint or another TCP implementation |
//! | `run::record` | recordings of responses to stimuli, as a script |
//! | `run::sockets` | descriptors, calls and socket options (with a table) |
//! | `run::commands` | commands and kernel parameters (with tables) |
//! | `run::tcp_info` | variables of embedded code (with a table of fields) |
//! | `code` | assertions: a small part of Python |
//! | `outcome` | outcome and dialogue |

mod code;
mod outcome;
mod run;
mod script;

pub use outcome::{Exchange, Failure, Outcome, Step, Stop, Unsupported};
pub use run::{
    Advance, ConnectionIndex, EchoRule, Files, Progress, RecordedTimes, Recording, Returned,
    RunOptions, Sent, Strictness, System, TrailingPackets, Windows, options_from_bytes,
    options_to_bytes, record, record_on, run, run_on, run_script, unreadable,
    verify_control_messages, verify_epoll_events, verify_error_fields, verify_timestamp,
};
pub use script::{
    Action, Call, Command, Direction, Event, EventTime, Expression, Field, Icmp, Mark, OptionLine,
    Packet, ParseError, Position, Script, TcpOption, errno_name, text_bytes,
};
