//! Writing: what the application hands over, and what room there is for it.
//!
//! Source: Linux `tcp_sendmsg_locked`, `tcp_push`, `sk_stream_memory_free`,
//! `__sk_stream_is_writeable`, `tcp_mark_urg`.

use crate::config::SendBufferRule;
use crate::sender::Sender;
use crate::sender::transmit::NagleOverride;

/// How something is written: the flags of `send`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Writing {
    /// More will follow at once (`MSG_MORE`).
    pub more: bool,
    /// A record ends here (`MSG_EOR`).
    pub ends_record: bool,
    /// The last byte is urgent (`MSG_OOB`).
    pub urgent: bool,
}

/// Which part of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its beginning.
    First,
    /// Some of it has been taken already.
    Later,
}

impl Sender {
    /// Takes up to `bytes` bytes from the application and returns how many were taken: as many as
    /// the send buffer has room for.
    pub(crate) fn write(&mut self, bytes: u64, writing: Writing) -> u64 {
        self.note_application_limit();
        let offered = match self.config.sending.buffer_rule {
            SendBufferRule::Payload => bytes.min(self.send_room()),
            SendBufferRule::Memory { .. } => bytes,
        };
        if offered == bytes
            && bytes > 0
            && writing == Writing::default()
            && self.written.append_write(bytes, self.buffer_goal())
        {
            // As most small writes do, while others wait.
            self.budget.set_override(NagleOverride::Usual);
            return bytes;
        }
        let taken = self.gather(offered);
        if taken == 0 {
            return 0;
        }
        if taken == bytes {
            self.end_write(writing);
        } else {
            self.written.push();
            self.budget.set_override(NagleOverride::Push);
            self.send_buffer.want_room();
        }
        taken
    }

    /// Takes as much of a write as fills one buffer; none unless the application `may_write`.
    pub(crate) fn write_part(
        &mut self,
        bytes: u64,
        writing: Writing,
        part: Part,
        may_write: bool,
    ) -> u64 {
        if part == Part::First && may_write {
            self.note_application_limit();
        }
        let limit = if may_write { self.room_of_part(bytes) } else { 0 };
        if limit == 0 {
            if part == Part::Later && may_write {
                self.written.push();
                self.budget.set_override(NagleOverride::Push);
            }
            self.send_buffer.want_room();
            return 0;
        }
        if limit == bytes {
            return self.finish_write(bytes, writing, part);
        }
        self.extend(limit, part == Part::First);
        if self.written.is_push_overdue(self.peer_window.largest()) {
            self.written.push();
            self.budget.set_override(NagleOverride::Push);
        } else if self.written.is_first_last() {
            self.budget.set_override(NagleOverride::PushOne);
        } else {
            self.budget.set_override(NagleOverride::Wait);
        }
        limit
    }

    /// Bytes of a write that fit into the buffer begun last, or into a new one.
    fn room_of_part(&mut self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let bytes = match self.config.sending.buffer_rule {
            SendBufferRule::Payload => bytes.min(self.send_room()),
            SendBufferRule::Memory { .. } => bytes,
        };
        let goal = self.buffer_goal();
        let mut room = self.written.room(goal);
        if bytes > 0 && room == 0 {
            if !self.has_memory() {
                return 0;
            }
            self.begin_buffer();
            room = goal;
        }
        bytes.min(u64::from(room))
    }

    fn extend(&mut self, bytes: u64, begins_write: bool) {
        self.written.append(u32::try_from(bytes).unwrap_or(u32::MAX), begins_write);
    }

    fn finish_write(&mut self, bytes: u64, writing: Writing, part: Part) -> u64 {
        self.extend(bytes, part == Part::First);
        self.end_write(writing);
        bytes
    }

    /// All of a write is taken: its end is marked, and what waits is looked at (Linux `tcp_push`).
    fn end_write(&mut self, writing: Writing) {
        if writing.ends_record {
            self.written.seal();
        }
        if !writing.more || self.written.is_push_overdue(self.peer_window.largest()) {
            self.written.push();
        }
        if writing.urgent {
            self.urgent.set(self.end_of_written());
        }
        self.budget.set_override(if writing.more {
            NagleOverride::Hold
        } else {
            NagleOverride::Usual
        });
    }

    /// Fills buffers with `bytes` bytes, as long as new ones may be begun; returns how many found
    /// a place.
    fn gather(&mut self, bytes: u64) -> u64 {
        let goal = self.buffer_goal();
        let mut taken: u64 = 0;
        while taken < bytes {
            let mut room = self.written.room(goal);
            if room == 0 {
                if !self.has_memory() {
                    break;
                }
                self.begin_buffer();
                room = goal;
            }
            let part = u32::try_from(bytes - taken).unwrap_or(u32::MAX).min(room);
            self.written.append(part, taken == 0);
            taken += u64::from(part);
            if taken < bytes && self.written.is_push_overdue(self.peer_window.largest()) {
                self.written.push();
            }
        }
        taken
    }

    fn begin_buffer(&mut self) {
        self.written.begin();
        self.nagle.on_new_buffer();
        self.budget.note_resume(self.queue.is_empty());
    }
}
