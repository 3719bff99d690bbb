//! Behaviour that changes on an open connection: the application sets options, the host its
//! parameters.
//!
//! Source: Linux `do_tcp_setsockopt`, `__tcp_sock_set_nodelay`, `__tcp_sock_set_cork`,
//! `tcp_set_keepalive`.

use crate::config::{Config, Nagle};
use crate::congestion::Congestion;
use crate::connection::Connection;
use fairwind_units::Instant;
use std::sync::Arc;

impl Connection {
    /// Goes on with another behaviour. What was agreed on in the handshake stays; what no longer has
    /// to wait goes out. Drain [`poll_segment`](Self::poll_segment) afterwards.
    pub fn reconfigure(&mut self, now: Instant, config: Arc<Config>) {
        let before = std::mem::replace(&mut self.config, config);
        let config = self.config.clone();
        if before.congestion != config.congestion {
            self.end_control();
            self.congestion = Congestion::new(&config);
            self.ecn.is_needed = self.congestion.needs_marks();
            if self.state.is_synchronised() {
                self.begin_control(now);
            }
        }
        self.reckon_extras();
        self.follow_framing();
        self.window.recount(&config);
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.count_as(config.ack_counting);
        }
        self.reconfigure_receiver(&before, &config);
        self.release_held(&before, &config);
        if before.patience.keep_alive != config.patience.keep_alive && self.state.is_synchronised()
        {
            self.change_keep_alive(before.patience.keep_alive, now);
        }
        if before.sending.pacing != config.sending.pacing {
            self.bound_pacing_rate();
        }
        if before.send_buffer != config.send_buffer {
            self.send.grown_buffer = 0;
        }
        self.check_invariants();
    }

    /// Without delay nothing small waits any longer, not even behind a cork; without a cork, what
    /// it held follows Nagle's rule again.
    fn release_held(&mut self, before: &Config, config: &Config) {
        let hurries = before.nagle != Nagle::Off && config.nagle == Nagle::Off;
        let uncorked = before.sending.cork && !config.sending.cork && config.nagle == Nagle::Off;
        self.send.pushes_once |= hurries || uncorked;
    }

    /// The behaviour in force.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }
}
