//! Options and control messages about times.
//!
//! | option | effect |
//! |---|---|
//! | `SO_TIMESTAMPING` | `TX_SCHED`, `TX_SOFTWARE`, `TX_ACK`, `RX_SOFTWARE`, `SOFTWARE`, `OPT_ID`, `OPT_ID_TCP`, `OPT_TSONLY`; other flags change nothing |
//! | `SO_TIMESTAMPNS`, `SO_TIMESTAMP` | receipts are stamped |

use super::constants::value;
use super::request::SocketOption;
use super::{Attempt, SUCCESS, Socket, Sockets, fails};
use crate::outcome::{Step, Stop};
use crate::run::host::Host;
use crate::run::stamps::Form;
use crate::script::Expression;
use fairwind_units::{Instant, Span};

impl Socket {
    /// Whether times of arrival are asked for.
    pub(super) fn tells_receipts(&self) -> bool {
        self.stamping.receipt.is_some() || self.stamping.tells_receipts()
    }
}

impl Sockets {
    /// Sets one of the options; `None` where it is another one.
    pub(super) fn set_stamping(
        &mut self,
        option: &SocketOption,
        host: &mut Host,
    ) -> Step<Option<Attempt>> {
        let form = match option.name.as_str() {
            "SO_TIMESTAMPING" => None,
            "SO_TIMESTAMP" => Some(Form::Microseconds),
            "SO_TIMESTAMPNS" => Some(Form::Nanoseconds),
            _ => return Ok(None),
        };
        let number = value(&option.value)?;
        let index = self.endpoint(option.descriptor)?;
        let socket = self.get(option.descriptor)?;
        if form.is_some() {
            socket.stamping.receipt = form.filter(|_| number != 0);
        } else {
            let open = index.map(|index| &host.endpoints[index].connection);
            let open = open.filter(|connection| connection.state() != fairwind_tcp::State::Closed);
            let flags = u32::try_from(number).ok();
            if flags.is_none_or(|flags| socket.stamping.set(flags, open).is_err()) {
                return Ok(Some(fails("EINVAL")));
            }
        }
        if let Some(index) = index {
            host.endpoints[index].errors.stamps.of_receipts = socket.tells_receipts();
        }
        Ok(Some(SUCCESS))
    }
}

/// Judges `{scm_sec=..., scm_nsec=...}`, which counts from when the script began.
pub(super) fn judge(expected: &Expression, seen: Instant, clock: (Instant, Span)) -> Step<()> {
    let part = |name| match super::arguments::field(expected, name) {
        Some(written) => Ok(u64::try_from(value(written)?).unwrap_or(0)),
        None => Err(Stop::failed(format!("`{expected}` has no field {name}"))),
    };
    let (origin, tolerance) = clock;
    let wanted = Span::from_secs(part("scm_sec")?) + Span::from_nanos(part("scm_nsec")?);
    let seen = seen.saturating_since(origin);
    if wanted.saturating_sub(seen).max(seen.saturating_sub(wanted)) <= tolerance {
        return Ok(());
    }
    Err(Stop::failed(format!(
        "the stamp: expected {} ns, seen {} ns",
        wanted.as_nanos(),
        seen.as_nanos()
    )))
}
