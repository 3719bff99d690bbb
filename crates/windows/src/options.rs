//! What is chosen at the start, and its form in the program's map.

use super::WindowsError;
use fairwind_bpf::RawEvent;
use fairwind_units::Span;
use serde::{Deserialize, Serialize};

/// How far remembered windows are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Connections begin with half of what is remembered, within the limit of the options and never with less than
    /// the kernel's own initial window; one that lost packets halves what is remembered.
    #[default]
    Safe,
    /// The report's mechanism: connections begin with the largest window that is remembered, and only age lowers it.
    Exact,
}

/// Which connections begin with a remembered window. The windows of all are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Beginning {
    /// Those that others have opened, as in the report.
    #[default]
    Incoming,
    /// Those that are opened here, too.
    Every,
}

/// When a connection's window is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Collection {
    /// When all that it sent is acknowledged, or will never be.
    #[default]
    End,
    /// When the application closes it, as in the report, even if much is still to be sent.
    Close,
}

/// What is chosen at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowOptions {
    /// Age at which a window is used no more: the report's `LIFETIME_WIND`, which it gives no value of.
    pub lifetime: Span,
    /// Peers that are remembered at most, the longest unused giving way: the report's `MAX_WINDLIST`, likewise.
    pub entries: u32,
    /// How far windows are trusted.
    pub trust: Trust,
    /// Which connections begin with them.
    pub beginning: Beginning,
    /// When windows are written down.
    pub collection: Collection,
    /// Packets that a connection begins with at most; as many as are remembered for `None`.
    pub largest_window: Option<u32>,
}

impl Default for WindowOptions {
    fn default() -> Self {
        Self {
            lifetime: Span::from_secs(600),
            entries: 1_000,
            trust: Trust::default(),
            beginning: Beginning::default(),
            collection: Collection::default(),
            largest_window: Some(100),
        }
    }
}

const IS_EXACT: u32 = 1;
const IS_EVERY: u32 = 2;
const IS_AT_CLOSE: u32 = 4;

impl WindowOptions {
    /// Bytes of [`WindowOptions::to_bytes`]: `struct settings` of the program.
    pub(super) const BYTES: usize = 16;

    /// Refuses what remembers nothing.
    pub(super) fn check(&self) -> Result<(), WindowsError> {
        let zero = |option, remedy| Err(WindowsError::Zero { option, remedy });
        if self.lifetime.is_zero() {
            return zero("--lifetime", "a time for which a window is used, like \"10 min\"");
        }
        if self.entries == 0 {
            return zero("--entries", "peers that are remembered at most, like 1000");
        }
        if self.largest_window == Some(0) {
            return zero(
                "--largest-window",
                "packets that a connection begins with at most, like 100",
            );
        }
        Ok(())
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(self.trust == Trust::Exact, IS_EXACT)
            | flag(self.beginning == Beginning::Every, IS_EVERY)
            | flag(self.collection == Collection::Close, IS_AT_CLOSE);
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.lifetime.as_nanos().to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.largest_window.unwrap_or(u32::MAX).to_ne_bytes());
        bytes[12..].copy_from_slice(&flags.to_ne_bytes());
        bytes
    }

    /// The options of a program that holds `entries`, by its map's `bytes`.
    pub(super) fn from_bytes(bytes: [u8; Self::BYTES], entries: u32) -> Self {
        let bytes = RawEvent(&bytes);
        let has = |flag| bytes.u32(12) & flag != 0;
        Self {
            lifetime: Span::from_nanos(bytes.u64(0)),
            entries,
            trust: if has(IS_EXACT) { Trust::Exact } else { Trust::Safe },
            beginning: if has(IS_EVERY) { Beginning::Every } else { Beginning::Incoming },
            collection: if has(IS_AT_CLOSE) { Collection::Close } else { Collection::End },
            largest_window: Some(bytes.u32(8)).filter(|most| *most < u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_the_same_when_they_are_read_again() {
        let usual = WindowOptions {
            lifetime: Span::from_nanos(0x0102_0304_0506),
            entries: 7,
            largest_window: Some(0x0a0b_0c0d),
            ..WindowOptions::default()
        };
        let all = [
            usual,
            WindowOptions { trust: Trust::Exact, largest_window: None, ..usual },
            WindowOptions { beginning: Beginning::Every, ..usual },
            WindowOptions { collection: Collection::Close, ..usual },
        ];
        for options in all {
            assert_eq!(WindowOptions::from_bytes(options.to_bytes(), 7), options);
        }
    }

    #[test]
    fn what_would_remember_nothing_is_refused_by_the_name_of_its_option() {
        let usual = WindowOptions::default();
        assert_eq!(usual.check(), Ok(()));
        let refused = [
            (WindowOptions { lifetime: Span::ZERO, ..usual }, "--lifetime 0"),
            (WindowOptions { entries: 0, ..usual }, "--entries 0"),
            (WindowOptions { largest_window: Some(0), ..usual }, "--largest-window 0"),
        ];
        for (options, words) in refused {
            let error = options.check().expect_err(words).to_string();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
