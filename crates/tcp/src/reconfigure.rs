//! Changing what an endpoint does while its connection lasts, as socket options and kernel
//! parameters do.

use crate::config::Config;
use crate::congestion::Congestion;
use crate::connection::Connection;
use std::sync::Arc;

impl Connection {
    /// The behaviour in force.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Changes the behaviour from now on. What is looked at when it is needed is in force at once;
    /// what the SYNs agreed on and what was derived at the beginning stays as it is. Another
    /// congestion control begins anew with the window that there is (Linux
    /// `tcp_set_congestion_control`).
    ///
    /// To be followed by [`poll_segment`](Self::poll_segment): what waited may go now.
    pub fn reconfigure(&mut self, config: Arc<Config>) {
        if config.congestion != self.config.congestion {
            self.congestion = Congestion::new(config.congestion);
        }
        self.config = config;
    }
}
