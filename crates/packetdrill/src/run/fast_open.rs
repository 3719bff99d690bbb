//! What a host remembers of its peer for Fast Open, as Linux does in `tcp_metrics`.

use fairwind_tcp::{FastOpenConfig, FastOpenLesson, FastOpenSyn};
use fairwind_wire::{FastOpen, FastOpenKind};

/// Of the one peer that there is: its cookie, its MSS, and how to ask it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Remembered {
    cookie: Option<FastOpen>,
    peer_mss: Option<u16>,
    ask: FastOpenKind,
}

impl Remembered {
    /// Takes what an answer to a SYN has told (Linux `tcp_fastopen_cache_set`).
    pub(crate) fn learn(&mut self, lesson: &FastOpenLesson) {
        self.peer_mss = Some(lesson.peer_mss);
        if lesson.cookie.is_some() {
            self.cookie = lesson.cookie;
        }
        if let Some(ask) = lesson.ask_next {
            self.ask = ask;
        }
    }

    /// Whether data can travel with a SYN (Linux `tcp_fastopen_cookie_check`).
    pub(crate) fn allows_data(&self, config: &FastOpenConfig) -> bool {
        config.client_without_cookie || self.cookie.is_some()
    }

    /// The SYN for an application that has `bytes` bytes.
    pub(crate) fn syn(&self, config: &FastOpenConfig, bytes: u32) -> FastOpenSyn {
        if !self.allows_data(config) {
            return FastOpenSyn::Request(self.ask);
        }
        let option = self.cookie.filter(|_| !config.client_without_cookie);
        FastOpenSyn::Data { option, bytes, peer_mss: self.peer_mss }
    }
}
