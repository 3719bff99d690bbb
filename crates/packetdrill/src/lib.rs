//! Packetdrill scripts: parser, runner and judge.
//!
//! A script in the packetdrill language writes down a conversation: what the application calls,
//! which packets the peer sends, and which packets the endpoint must send, and when. This room reads
//! such scripts, follows them with a [`Connection`](fairwind_tcp::Connection), and judges every
//! packet. A script that takes a minute takes a millisecond, because nothing waits.
//!
//! It never touches a network, a clock, a file or a shell: packets are values, time is counted, and
//! commands in back quotes only change switches of the endpoint. What a script needs and the
//! endpoint does not have makes it [`Outcome::Unsupported`], never passed.
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
//! else { panic!("the judge is lenient") };
//! assert_eq!(
//!     failure.to_string(),
//!     "wrong.pkt:6: the time: expected 2 s, seen 1 s (tolerance 0.25 s)"
//! );
//! ```
//!
//! How a packet is judged:
//!
//! - Compared are control bits (PSH and FIN too), sequence and acknowledgment numbers, payload
//!   length, urgent pointer, and the options: kinds, order and values. `<...>` stands for any
//!   options. The window is compared where `win` is written, the mark where `[...]` is.
//! - `TSval` is compared where `--tcp_ts_tick_usecs` gives the tick of the clock, and may be off by
//!   as much as times may. `TSecr` is compared where `--strict_echo` or `--strict` asks for it.
//! - A time may be off by 4 ms (`--tolerance_usecs`) or an eighth of the time since the event before
//!   (`--tolerance_percent`), whichever is more. `+t` counts from when that event really happened,
//!   but from when it should have happened between two injected packets. An expected packet has
//!   happened when it was looked at, or with `--strict` when it was sent. What a system does by itself
//!   may come later by as much as its timers lag ([`System::lag`]): two ticks of the clock of a kernel.
//! - An expected packet may be met by several segments with its payload, unless `--strict_segments`
//!   stands in the script. PSH and FIN are the last one's, CWR is the first one's; whether those
//!   before the last have PSH does not matter, but where `--strict` asks for segments as segmentation
//!   cuts them ([`Judging`]).
//! - A packet that nobody expects is an error as soon as another one is expected. Whether one is an
//!   error that was sent before the end and never asked for can be chosen ([`TrailingPackets`]).
//!
//! | module | concern |
//! |---|---|
//! | `script` | the language: tokens, parser, values, and back to text |
//! | `run` | following a script: time, packets, judging, numbers of the script and of the endpoint |
//! | `run::system` | what is under test, as a trait: our endpoint, or whatever else speaks TCP |
//! | `run::record` | recording what a system does about stimuli, as a script |
//! | `run::sockets` | descriptors, calls and socket options (the table of these is there) |
//! | `run::commands` | commands and kernel parameters (the tables of these are there) |
//! | `run::tcp_info` | what code can ask of the endpoint (the table of fields is there) |
//! | `code` | assertions: a small part of Python |
//! | `outcome` | how it ended, and the dialogue |

mod code;
mod outcome;
mod run;
mod script;

pub use outcome::{Exchange, Failure, Outcome, Step, Stop, Unsupported};
pub use run::{
    Advance, ConnectionIndex, EchoRule, Files, Judging, Progress, RecordedTimes, Recording,
    Returned, RunOptions, Sent, System, TrailingPackets, Windows, judge_control_messages,
    judge_epoll_events, judge_error_fields, judge_timestamp, options_from_bytes, options_to_bytes,
    record, record_on, run, run_on, run_script, unreadable,
};
pub use script::{
    Action, Call, Command, Direction, Event, EventTime, Expression, Field, Icmp, Mark, OptionLine,
    Packet, ParseError, Position, Script, TcpOption, errno_name, text_bytes,
};
