//! Asking about a socket, and switching it: `fcntl`, `ioctl`, `getsockname`.

use super::constants::{NONBLOCK, READ_WRITE};
use super::{Attempt, Returned, Role, SUCCESS, Sockets, fails};
use crate::outcome::{Step, Stop};
use crate::run::host::Host;

impl Sockets {
    pub(super) fn control(
        &mut self,
        descriptor: i64,
        command: &str,
        argument: i64,
    ) -> Step<Attempt> {
        let socket = self.get(descriptor)?;
        match command {
            "F_GETFL" => {
                let flags = READ_WRITE | if socket.nonblocking { NONBLOCK } else { 0 };
                Ok(Attempt::Returns(Returned::value(flags)))
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
    ) -> Step<Attempt> {
        if what == "FIONBIO" {
            self.get(descriptor)?.nonblocking = argument.unwrap_or(0) != 0;
            return Ok(SUCCESS);
        }
        let Some(index) = self.endpoint(descriptor)? else { return Ok(fails("EINVAL")) };
        let endpoint = &host.endpoints[index];
        let connection = &endpoint.connection;
        let bytes = match what {
            "SIOCINQ" | "FIONREAD" => u64::from(connection.inquired_bytes()),
            "SIOCATMARK" => u64::from(connection.is_at_mark()),
            "SIOCOUTQ" | "TIOCOUTQ" => connection.unacked_bytes(),
            "SIOCOUTQNSD" => connection.unsent_bytes(),
            other => return Err(Stop::unsupported(format!("ioctl {other} is not known here"))),
        };
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
    pub(super) fn fault(&mut self, descriptor: i64, host: &Host) -> Step<Attempt> {
        let connected = match self.get(descriptor)?.role {
            Role::Connected { endpoint, .. } => !host.endpoints[endpoint].is_closed(),
            Role::Fresh | Role::Listening => false,
        };
        Ok(fails(if connected { "EFAULT" } else { "EPIPE" }))
    }

    /// Addresses are not compared; whether there is a peer is.
    pub(super) fn name(&mut self, descriptor: i64, of_peer: bool, host: &Host) -> Step<Attempt> {
        let has_peer = match self.get(descriptor)?.role {
            Role::Connected { endpoint, .. } => !host.endpoints[endpoint].is_closed(),
            Role::Fresh | Role::Listening => false,
        };
        Ok(if of_peer && !has_peer { fails("ENOTCONN") } else { SUCCESS })
    }
}
