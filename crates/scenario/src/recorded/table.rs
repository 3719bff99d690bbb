//! The table of what was recorded, as printed.

use super::RecordedApplication as Application;
use super::{RecordedInterval, RecordedPayload, Recording};
use crate::Transport;
use fairwind_units::{ByteCount, Span};

/// All applications, in the order of the table. Payload in bytes: minimum, mean, maximum. Intervals in
/// milliseconds: mean, median, minimum, maximum, 1st and 99th percentile. Then packets and bits per second.
#[rustfmt::skip]
pub(super) const RECORDINGS: [Recording; 19] = [
    thin(Application::AnarchyOnline, Transport::Tcp, payload(8, 98, 1_333),
        interval(632, 449, 7, 17_032, 83, 4_195), 1.58, 2_168.0),
    thin(Application::AgeOfConan, Transport::Tcp, payload(5, 80, 1_460),
        interval(86, 57, 0, 1_375, 24, 386), 11.6, 12_375.0),
    thin(Application::BzFlag, Transport::Tcp, payload(4, 30, 1_448),
        interval(24, 0, 0, 540, 0, 151), 41.7, 31_370.0),
    thin(Application::HaloEight, Transport::Udp, payload(32, 247, 1_264),
        interval(36, 33, 0, 1_403, 32, 182), 27.8, 60_223.0),
    thin(Application::HaloSix, Transport::Udp, payload(32, 270, 280),
        interval(67, 66, 32, 716, 64, 69), 14.9, 35_888.0),
    thin(Application::TestDriveUnlimited, Transport::Udp, payload(34, 80, 104),
        interval(40, 33, 0, 298, 0, 158), 25.0, 22_912.0),
    thin(Application::TonyHawk, Transport::Udp, payload(32, 90, 576),
        interval(308, 163, 0, 4_070, 53, 2_332), 3.2, 5_812.0),
    thin(Application::WorldInConflictServer, Transport::Tcp, payload(4, 365, 1_361),
        interval(104, 100, 0, 315, 0, 300), 9.6, 31_457.0),
    thin(Application::WorldInConflictClient, Transport::Tcp, payload(4, 4, 113),
        interval(105, 100, 16, 1_022, 44, 299), 9.5, 4_443.0),
    thin(Application::WorldOfWarcraft, Transport::Tcp, payload(6, 26, 1_228),
        interval(314, 133, 0, 14_855, 0, 3_785), 3.2, 2_046.0),
    thin(Application::SkypeUdp, Transport::Udp, payload(11, 111, 316),
        interval(30, 24, 0, 20_015, 18, 44), 33.0, 37_906.0),
    thin(Application::SkypeTcp, Transport::Tcp, payload(14, 236, 1_267),
        interval(34, 40, 0, 1_671, 4, 80), 29.0, 69_296.0),
    thin(Application::RemoteDesktop, Transport::Tcp, payload(8, 111, 1_417),
        interval(318, 159, 1, 12_254, 2, 3_892), 3.1, 4_497.0),
    thin(Application::SecureShell, Transport::Tcp, payload(16, 48, 752),
        interval(323, 159, 0, 76_610, 32, 3_616), 3.1, 2_825.0),
    thin(Application::VncClient, Transport::Tcp, payload(1, 8, 106),
        interval(34, 8, 0, 5_451, 0, 517), 29.0, 17_666.0),
    thin(Application::VncServer, Transport::Tcp, payload(2, 827, 1_448),
        interval(38, 0, 0, 3_557, 0, 571), 26.0, 187_000.0),
    thin(Application::YouTube, Transport::Tcp, payload(112, 1_446, 1_448),
        interval(9, 0, 0, 1_335, 0, 127), 111.0, 1_280_000.0),
    greedy(Application::HttpDownload, payload(64, 1_447, 1_448)),
    greedy(Application::FtpDownload, payload(40, 1_447, 1_448)),
];

const fn thin(
    application: Application,
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

const fn greedy(application: Application, payload: RecordedPayload) -> Recording {
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
