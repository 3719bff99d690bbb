//! Recorded applications, each as a thin stream.
//!
//! The numbers are those of table 2.1 of Markussen's thesis (University of Oslo, 2014), collected by
//! the same group over years of packet traces. What the table leaves open is decided here and described in
//! `docs/concepts/recorded-applications.md`.

use crate::protocol::Transport;
use crate::varying::{Distribution, Quantile, Varying};
use fairwind_units::{ByteCount, Ratio, Span};
use serde::{Deserialize, Serialize};

/// An application with recorded traffic.
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

/// The recording of an application.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Recording {
    /// Which one.
    pub application: RecordedApplication,
    /// Its recorded transport.
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
    /// The recordings of all applications, in the order of the table.
    pub fn recordings() -> &'static [Recording] {
        &RECORDINGS
    }

    /// The recording of this one.
    ///
    /// # Panics
    /// Never: the table has all of them.
    pub fn recording(self) -> &'static Recording {
        let mut rows = RECORDINGS.iter();
        rows.find(|row| row.application == self).expect("the table has all applications")
    }

    /// Whether it always had something to send.
    pub fn is_greedy(self) -> bool {
        self.recording().interval.is_none()
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
    pub(crate) fn distribution(self) -> Varying<ByteCount> {
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
    pub(crate) fn distribution(self) -> Varying<Span> {
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

/// All applications, in the order of the table. Payload in bytes: minimum, mean, maximum. Intervals in
/// milliseconds: mean, median, minimum, maximum, 1st and 99th percentile. Then packets and bits per second.
#[rustfmt::skip]
const RECORDINGS: [Recording; 19] = [
    thin(RecordedApplication::AnarchyOnline, Transport::Tcp, payload(8, 98, 1_333),
        interval(632, 449, 7, 17_032, 83, 4_195), 1.58, 2_168.0),
    thin(RecordedApplication::AgeOfConan, Transport::Tcp, payload(5, 80, 1_460),
        interval(86, 57, 0, 1_375, 24, 386), 11.6, 12_375.0),
    thin(RecordedApplication::BzFlag, Transport::Tcp, payload(4, 30, 1_448),
        interval(24, 0, 0, 540, 0, 151), 41.7, 31_370.0),
    thin(RecordedApplication::HaloEight, Transport::Udp, payload(32, 247, 1_264),
        interval(36, 33, 0, 1_403, 32, 182), 27.8, 60_223.0),
    thin(RecordedApplication::HaloSix, Transport::Udp, payload(32, 270, 280),
        interval(67, 66, 32, 716, 64, 69), 14.9, 35_888.0),
    thin(RecordedApplication::TestDriveUnlimited, Transport::Udp, payload(34, 80, 104),
        interval(40, 33, 0, 298, 0, 158), 25.0, 22_912.0),
    thin(RecordedApplication::TonyHawk, Transport::Udp, payload(32, 90, 576),
        interval(308, 163, 0, 4_070, 53, 2_332), 3.2, 5_812.0),
    thin(RecordedApplication::WorldInConflictServer, Transport::Tcp, payload(4, 365, 1_361),
        interval(104, 100, 0, 315, 0, 300), 9.6, 31_457.0),
    thin(RecordedApplication::WorldInConflictClient, Transport::Tcp, payload(4, 4, 113),
        interval(105, 100, 16, 1_022, 44, 299), 9.5, 4_443.0),
    thin(RecordedApplication::WorldOfWarcraft, Transport::Tcp, payload(6, 26, 1_228),
        interval(314, 133, 0, 14_855, 0, 3_785), 3.2, 2_046.0),
    thin(RecordedApplication::SkypeUdp, Transport::Udp, payload(11, 111, 316),
        interval(30, 24, 0, 20_015, 18, 44), 33.0, 37_906.0),
    thin(RecordedApplication::SkypeTcp, Transport::Tcp, payload(14, 236, 1_267),
        interval(34, 40, 0, 1_671, 4, 80), 29.0, 69_296.0),
    thin(RecordedApplication::RemoteDesktop, Transport::Tcp, payload(8, 111, 1_417),
        interval(318, 159, 1, 12_254, 2, 3_892), 3.1, 4_497.0),
    thin(RecordedApplication::SecureShell, Transport::Tcp, payload(16, 48, 752),
        interval(323, 159, 0, 76_610, 32, 3_616), 3.1, 2_825.0),
    thin(RecordedApplication::VncClient, Transport::Tcp, payload(1, 8, 106),
        interval(34, 8, 0, 5_451, 0, 517), 29.0, 17_666.0),
    thin(RecordedApplication::VncServer, Transport::Tcp, payload(2, 827, 1_448),
        interval(38, 0, 0, 3_557, 0, 571), 26.0, 187_000.0),
    thin(RecordedApplication::YouTube, Transport::Tcp, payload(112, 1_446, 1_448),
        interval(9, 0, 0, 1_335, 0, 127), 111.0, 1_280_000.0),
    greedy(RecordedApplication::HttpDownload, payload(64, 1_447, 1_448)),
    greedy(RecordedApplication::FtpDownload, payload(40, 1_447, 1_448)),
];

const fn thin(
    application: RecordedApplication,
    transport: Transport,
    payload: RecordedPayload,
    interval: RecordedInterval,
    packets_per_second: f64,
    bits_per_second: f64,
) -> Recording {
    Recording {
        application,
        transport,
        payload,
        interval: Some(interval),
        packets_per_second: Some(packets_per_second),
        bits_per_second: Some(bits_per_second),
    }
}

const fn greedy(application: RecordedApplication, payload: RecordedPayload) -> Recording {
    Recording {
        application,
        transport: Transport::Tcp,
        payload,
        interval: None,
        packets_per_second: None,
        bits_per_second: None,
    }
}

const fn payload(min: u64, mean: u64, max: u64) -> RecordedPayload {
    RecordedPayload {
        min: ByteCount::new(min),
        mean: ByteCount::new(mean),
        max: ByteCount::new(max),
    }
}

const fn interval(
    mean: u64,
    median: u64,
    min: u64,
    max: u64,
    percentile_1: u64,
    percentile_99: u64,
) -> RecordedInterval {
    RecordedInterval {
        mean: Span::from_millis(mean),
        median: Span::from_millis(median),
        min: Span::from_millis(min),
        max: Span::from_millis(max),
        percentile_1: Span::from_millis(percentile_1),
        percentile_99: Span::from_millis(percentile_99),
    }
}
