//! A real program behind an emulated path.
//!
//! The program runs in its own namespaces, whose only device is a TUN device. Our network joins it in real time with a
//! second TUN device, in the namespace where the shell was started. Nested shells compose their paths, and all addresses
//! are reachable without translation.
//!
//! Three processes take part, so that nothing is left behind however one of them ends. The *shell* forwards the packets.
//! The *inside* is the first process of the program's namespaces, which end with it. The *supervisor* between them ends the
//! inside when the shell has ended. What was set up outside ends with the shell's device, or is undone by its
//! [`Reaper`](fairwind_linux::Reaper). The shell starts the supervisor by executing a
//! [`HostCommand`](fairwind_hosts::HostCommand) with two more arguments; that program calls [`serve`] with them.
//!
//! | module | concern |
//! |---|---|
//! | `session` | a shell from its start to its end |
//! | `host_network` | networks of the namespace where a shell is started, and the addresses that it takes |
//! | `outside` | the device outside, the way beyond the machine, and address translation |
//! | `inside` | the process that starts the program, and the supervisor that ends it |
//! | `protocol` | messages between these processes |
//! | `path` | the network between the two devices, and its measures |
//! | `connections` | connection tracking |
//! | `commands` | commands of the system |

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
pub use path::ShellPlan;
pub use protocol::User;
pub use session::{Outcome, ShellAddresses, run};

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
