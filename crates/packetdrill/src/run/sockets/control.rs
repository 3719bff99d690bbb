//! `fcntl`, `ioctl`, `getsockname` and `getpeername`.

use super::constants::{NONBLOCK, READ_WRITE};
use super::{CallProgress, Returned, Role, SUCCESS, Sockets, fails};
use crate::outcome::{Step, Stop};
use crate::run::host::Host;
use fairwind_tcp::{Connection, State};

impl Sockets {
    pub(super) fn control(
        &mut self,
        descriptor: i64,
        command: &str,
        argument: i64,
    ) -> Step<CallProgress> {
        let socket = self.get(descriptor)?;
        match command {
            "F_GETFL" => {
                let flags = READ_WRITE | if socket.nonblocking { NONBLOCK } else { 0 };
                Ok(CallProgress::Returns(Returned::value(flags)))
            }
            "F_SETFL" => {
                socket.nonblocking = argument & NONBLOCK != 0;
                Ok(SUCCESS)
            }
            "F_GETFD" | "F_SETFD" => Ok(SUCCESS),
            other => Err(Stop::unsupported(format!("fcntl with {other} is not known here"))),
        }
    }

    pub(super) fn query(
        &mut self,
        descriptor: i64,
        what: &str,
        argument: Option<i64>,
        host: &Host,
    ) -> Step<CallProgress> {
        if what == "FIONBIO" {
            self.get(descriptor)?.nonblocking = argument.unwrap_or(0) != 0;
            return Ok(SUCCESS);
        }
        let connection = match self.get(descriptor)?.role {
            Role::Listening => return Ok(fails("EINVAL")),
            Role::Fresh => None,
            Role::Connected { endpoint, .. } => Some(&host.endpoints[endpoint].connection),
        };
        let bytes = connection.map_or(Ok(0), |connection| waiting(what, connection))?;
        let bytes = i64::try_from(bytes).expect("a buffer is smaller than 2^63 bytes");
        match argument {
            Some(expected) if expected != bytes => {
                Err(Stop::failed(format!("{what}: expected {expected}, seen {bytes}")))
            }
            _ => Ok(SUCCESS),
        }
    }

    /// A transfer to or from nowhere fails where it would touch the bytes; a socket without a
    /// connection has none.
    pub(super) fn fault(&mut self, descriptor: i64, host: &Host) -> Step<CallProgress> {
        let connected = match self.get(descriptor)?.role {
            Role::Connected { endpoint, .. } => !host.endpoints[endpoint].is_over(),
            Role::Fresh | Role::Listening => false,
        };
        Ok(fails(if connected { "EFAULT" } else { "EPIPE" }))
    }

    /// Addresses are not compared; whether there is a peer is.
    pub(super) fn name(
        &mut self,
        descriptor: i64,
        of_peer: bool,
        host: &Host,
    ) -> Step<CallProgress> {
        let has_peer = match self.get(descriptor)?.role {
            Role::Connected { endpoint, .. } => {
                let state = host.endpoints[endpoint].connection.state();
                !matches!(state, State::Closed | State::TimeWait | State::SynSent)
            }
            Role::Fresh | Role::Listening => false,
        };
        Ok(if of_peer && !has_peer { fails("ENOTCONN") } else { SUCCESS })
    }
}

/// How many bytes wait in a connection, of the kind that is asked for.
fn waiting(what: &str, connection: &Connection) -> Step<u64> {
    Ok(match what {
        "SIOCINQ" | "FIONREAD" => u64::from(connection.inquired_bytes()),
        "SIOCATMARK" => u64::from(connection.is_at_mark()),
        "SIOCOUTQ" | "TIOCOUTQ" => connection.unacked_bytes(),
        "SIOCOUTQNSD" => connection.unsent_bytes(),
        other => return Err(Stop::unsupported(format!("ioctl {other} is not known here"))),
    })
}
