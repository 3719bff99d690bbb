//! Applications whose traffic was recorded, as a thin stream each.
//!
//! The numbers are those of table 2.1 of Markussen's thesis (University of Oslo, 2014), collected by
//! the same group over years of packet traces. What the table leaves open is decided here, and told in
//! `docs/concepts/recorded-applications.md`.

mod table;

use crate::{Distribution, MessageSize, Quantile, Transport, Varying, Workload};
use fairwind_units::{ByteCount, Ratio, Span};
use serde::{Deserialize, Serialize};

/// An application whose traffic was recorded.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub enum RecordedApplication {
    /// Role-playing game.
    #[serde(rename = "Anarchy Online")]
    AnarchyOnline,
    /// Role-playing game.
    #[serde(rename = "Age of Conan")]
    AgeOfConan,
    /// First-person tank game.
    #[serde(rename = "BZFlag")]
    BzFlag,
    /// First-person shooter with 8 players; recorded over UDP.
    #[serde(rename = "Halo 3 (8 players)")]
    HaloEight,
    /// First-person shooter with 6 players; recorded over UDP.
    #[serde(rename = "Halo 3 (6 players)")]
    HaloSix,
    /// Racing game; recorded over UDP.
    #[serde(rename = "Test Drive Unlimited")]
    TestDriveUnlimited,
    /// Sports game; recorded over UDP.
    #[serde(rename = "Tony Hawk's Project 8")]
    TonyHawk,
    /// Strategy game, what the server sends.
    #[serde(rename = "World in Conflict (server)")]
    WorldInConflictServer,
    /// Strategy game, what a client sends.
    #[serde(rename = "World in Conflict (client)")]
    WorldInConflictClient,
    /// Role-playing game.
    #[serde(rename = "World of Warcraft")]
    WorldOfWarcraft,
    /// Telephony over UDP.
    #[serde(rename = "Skype (UDP)")]
    SkypeUdp,
    /// Telephony over TCP.
    #[serde(rename = "Skype (TCP)")]
    SkypeTcp,
    /// Remote desktop connection.
    #[serde(rename = "RDC")]
    RemoteDesktop,
    /// Remote terminal.
    #[serde(rename = "SSH text session")]
    SecureShell,
    /// Remote desktop, what the client sends.
    #[serde(rename = "VNC (client)")]
    VncClient,
    /// Remote desktop, what the server sends.
    #[serde(rename = "VNC (server)")]
    VncServer,
    /// Video stream.
    #[serde(rename = "YouTube stream")]
    YouTube,
    /// Download; a greedy stream.
    #[serde(rename = "HTTP download")]
    HttpDownload,
    /// Download; a greedy stream.
    #[serde(rename = "FTP download")]
    FtpDownload,
}

/// What was recorded of an application.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Recording {
    /// Which one.
    pub application: RecordedApplication,
    /// What it was recorded over.
    pub transport: Transport,
    /// Payload of one packet.
    pub payload: RecordedPayload,
    /// Time from one packet to the next; `None` where it was below a millisecond on average: the
    /// application always had something to send.
    pub interval: Option<RecordedInterval>,
    /// Packets per second, as printed; `None` where they are not known.
    pub packets_per_second: Option<f64>,
    /// Bits per second with all headers, as printed; `None` where they are not known.
    pub bits_per_second: Option<f64>,
}

/// Payload of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RecordedPayload {
    /// The smallest.
    pub min: ByteCount,
    /// The mean.
    pub mean: ByteCount,
    /// The largest.
    pub max: ByteCount,
}

/// Time from one packet to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RecordedInterval {
    /// The mean.
    pub mean: Span,
    /// The median.
    pub median: Span,
    /// The shortest.
    pub min: Span,
    /// The longest.
    pub max: Span,
    /// One in a hundred is no longer.
    pub percentile_1: Span,
    /// Ninety-nine in a hundred are no longer.
    pub percentile_99: Span,
}

impl RecordedApplication {
    /// What was recorded of all applications, in the order of the table.
    pub fn recordings() -> &'static [Recording] {
        &table::RECORDINGS
    }

    /// What was recorded of this one.
    ///
    /// # Panics
    /// Never: the table has all of them.
    pub fn recording(self) -> &'static Recording {
        let mut rows = table::RECORDINGS.iter();
        rows.find(|row| row.application == self).expect("the table has all applications")
    }

    /// Whether it always had something to send.
    pub fn is_greedy(self) -> bool {
        self.recording().interval.is_none()
    }

    /// The stream that is like what was recorded, over `transport`.
    pub(crate) fn workload(self, transport: Transport) -> Workload {
        let recording = self.recording();
        match recording.interval {
            None => Workload::Greedy { volume: None },
            Some(interval) => Workload::Thin {
                size: MessageSize::Payload(recording.payload.distribution()),
                interval: interval.distribution(),
                transport,
            },
        }
    }
}

/// The smallest and the largest value were seen, so they occur: each once in ten thousand draws. Without
/// that, a law with the printed mean would hardly ever come near a far away maximum.
const SEEN: Ratio = Ratio::from_parts_per_billion(100_000);
const NOT_LARGEST: Ratio = Ratio::from_parts_per_billion(999_900_000);

/// Where the mean is printed as the minimum and there are larger values, they are this rare: 1 in 200.
/// So the mean is above the minimum by so little that it is printed as the minimum.
const RARE: Ratio = Ratio::from_parts_per_billion(995_000_000);

impl RecordedPayload {
    /// The distribution with these bounds and this mean, each bound being drawn now and then.
    fn distribution(self) -> Varying<ByteCount> {
        let Self { min, mean, max } = self;
        if mean > min {
            let points = [(Ratio::ZERO, min), (SEEN, min), (NOT_LARGEST, max), (Ratio::ONE, max)];
            return empirical(&points, Some(mean));
        }
        empirical(&[(Ratio::ZERO, min), (RARE, min), (Ratio::ONE, max)], None)
    }
}

impl RecordedInterval {
    /// The distribution with these quantiles and this mean, each bound being drawn now and then.
    fn distribution(self) -> Varying<Span> {
        let percent = |percent: u64| Ratio::from_parts_per_billion(percent * 10_000_000);
        let points = [
            (Ratio::ZERO, self.min),
            (SEEN, self.min),
            (percent(1), self.percentile_1),
            (percent(50), self.median),
            (percent(99), self.percentile_99),
            (NOT_LARGEST, self.max),
            (Ratio::ONE, self.max),
        ];
        empirical(&points, Some(self.mean))
    }
}

fn empirical<T: Copy>(points: &[(Ratio, T)], mean: Option<T>) -> Varying<T> {
    let quantiles = points.iter().map(|&(share, value)| Quantile { share, value }).collect();
    Varying::Drawn(Distribution::Empirical { quantiles, mean })
}
