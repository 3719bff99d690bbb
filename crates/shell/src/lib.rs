//! A real program behind an emulated path.
//!
//! The program runs in namespaces of its own whose only way out is a TUN device. Our network joins
//! it in real time with a second TUN device, in the namespace that the shell was started in. Shells
//! within shells compose their paths, and all addresses are reachable without translation.
//!
//! Three processes take part, so that nothing is left behind however one of them ends: the *shell*
//! carries the packets; the *inside* is the first process of the program's namespaces, which end with
//! it; the *supervisor* between them ends the inside when the shell has ended. What was set up outside
//! ends with the shell's device, or is undone by its [`Reaper`](fairwind_linux::Reaper). The
//! shell starts the supervisor by executing a [`HostCommand`](fairwind_hosts::HostCommand) with two more
//! arguments; the program so started calls [`serve`] with them.
//!
//! | module | concern |
//! |---|---|
//! | `addresses` | which addresses a shell takes |
//! | `surroundings` | what is used already where the shell is started |
//! | `outside` | the device outside, and the way beyond the machine |
//! | `masquerade` | translation of addresses |
//! | `protocol` | what the processes say to each other |
//! | `supervisor` | the process that ends the inside |
//! | `inside` | the process that starts the program |
//! | `carrier` | the network between the two devices, and its measures |
//! | `connections` | whose packet it is |
//! | `commands` | commands of the system |
//! | `session` | the whole, from the shell's side |

mod commands;
mod connections;
mod error;
mod host_network;
mod inside;
mod outside;
mod path;
mod protocol;
mod session;

pub use error::ShellError;
pub use protocol::User;
pub use session::{Outcome, ShellAddresses, ShellPlan, run};

use fairwind_linux as linux;

/// The configuration of resolvers.
const RESOLVER: &str = "/etc/resolv.conf";
/// Packets that may wait in a TUN device for our router, which takes them at once; so many that only
/// the emulated queues drop.
const DEVICE_QUEUE: u32 = 10_000;
/// The exit code of a shell that could not be set up or kept up, as `env` and others have it.
pub const FAILED: i32 = 125;

/// Lets this process go on when the person at the terminal interrupts the program: the terminal tells
/// everybody in its foreground.
pub fn ignore_the_terminal() {
    linux::ignore_the_terminal();
}

/// What a started process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Supervisor,
    Inside,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Supervisor => "shell-supervisor",
            Self::Inside => "shell-inside",
        }
    }
}

/// Is what the last two arguments of a process say, a role of a shell and its socket, and gives the
/// exit code; `None` where they say something else.
pub fn serve(arguments: &[String]) -> Option<i32> {
    let [.., role, descriptor] = arguments else { return None };
    let role = [Role::Supervisor, Role::Inside].into_iter().find(|one| one.name() == role)?;
    let socket = linux::inherited_socket(descriptor.parse().ok()?).ok()?;
    Some(match role {
        Role::Supervisor => inside::keep(socket),
        Role::Inside => inside::live(socket),
    })
}
