//! Python's view of the sender and of samples, with the field names of the kernel's C.

use fairwind_tcp::{AckReport, RateSample, TcpSock};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A whole number for a field, or words for what is none.
fn whole<N: TryFrom<u64>>(field: &str, value: &Bound<'_, PyAny>) -> PyResult<N> {
    let number = value.extract::<u64>().ok().and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| {
        let said = value.repr().map_or_else(|_| String::new(), |text| text.to_string());
        let bits = 8 * size_of::<N>();
        PyValueError::new_err(format!(
            "sender.{field} = {said}: it has to be a whole number, 0 or more, of at most {bits} bits"
        ))
    })
}

/// Gives a class of Python its fields. One with the name of a function behind it can be set, too.
macro_rules! fields {
    ($class:ident, $this:ident; $(
        #[doc = $doc:literal]
        $field:ident $(($set:ident))?: $type:ty = $value:expr;
    )*) => {
        #[pymethods]
        impl $class {
            $(
                #[doc = $doc]
                #[getter]
                fn $field(&self) -> $type {
                    let $this = self;
                    $value
                }

                $(
                    #[setter]
                    fn $set(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
                        let $this = self;
                        $value = whole(stringify!($field), value)?;
                        Ok(())
                    }
                )?
            )*
        }
    };
}

/// The sender; windows are in segments.
#[pyclass(module = "fairwind._core", name = "Sender")]
#[derive(Default)]
pub(crate) struct PythonSender {
    pub(crate) sender: TcpSock,
}

fields! {
    PythonSender, this;
    /// Congestion window in segments.
    snd_cwnd (set_snd_cwnd): u32 = this.sender.window;
    /// Slow-start threshold in segments.
    snd_ssthresh (set_snd_ssthresh): u32 = this.sender.threshold;
    /// Segments that count towards the window's next growth.
    snd_cwnd_cnt (set_snd_cwnd_cnt): u32 = this.sender.credit;
    /// What will have been delivered once the application's pause is through; 0 for none.
    app_limited (set_app_limited): u32 = this.sender.application_limited;
    /// Bytes per second at which segments leave.
    sk_pacing_rate (set_sk_pacing_rate): u64 = this.sender.control.pacing.rate;
    /// 0 none, 1 needed.
    sk_pacing_status (set_sk_pacing_status): u32 = this.sender.control.pacing.status;
    /// Window before the last reduction.
    prior_cwnd: u32 = this.sender.window_before;
    /// Greatest window.
    snd_cwnd_clamp: u32 = this.sender.max_window;
    /// Segments outstanding.
    packets_out: u32 = this.sender.outstanding;
    /// Retransmitted segments of these that are under way.
    retrans_out: u32 = this.sender.retransmitted;
    /// Segments of these that are considered lost.
    lost_out: u32 = this.sender.lost;
    /// Segments of these that were selectively acknowledged.
    sacked_out: u32 = this.sender.sacked;
    /// Segments believed to be in the network.
    in_flight: u32 = this.sender.in_flight();
    /// Segments delivered since the beginning.
    delivered: u32 = this.sender.delivered;
    /// Of these, with a mark of congestion.
    delivered_ce: u32 = this.sender.delivered_marked;
    /// Segments lost since the beginning.
    lost: u32 = this.sender.losses;
    /// Segments sent again since the beginning.
    total_retrans: u32 = this.sender.retransmissions;
    /// Smoothed round trip in microseconds (the kernel's is in eighths of them); 0 before there is one.
    srtt_us: f64 = f64::from(this.sender.smoothed_rtt_eighths) / 8.0;
    /// Least round trip of late in microseconds, once there was a sample.
    min_rtt_us: Option<u32> = this.sender.min_rtt();
    /// Now, in microseconds since the experiment began.
    tcp_mstamp: u64 = this.sender.now_micros;
    /// Oldest sequence number outstanding.
    snd_una: u32 = this.sender.oldest_unacked;
    /// Next sequence number to be sent.
    snd_nxt: u32 = this.sender.next;
    /// What was sent when recovery began.
    high_seq: u32 = this.sender.recovery_end;
    /// Bytes of a full segment.
    mss_cache: u32 = this.sender.segment_bytes;
    /// Window that the peer offers in bytes.
    snd_wnd: u32 = this.sender.peer_window;
    /// Bytes acknowledged.
    bytes_acked: u64 = this.sender.acknowledged_bytes;
    /// State of recovery: 0 open, 1 disorder, 2 window reduced, 3 recovery, 4 loss.
    ca_state: u8 = this.sender.control.state & 31;
    /// Whether the window is below the threshold.
    in_slow_start: bool = this.sender.is_in_slow_start();
    /// Whether the window was what kept the sender from sending.
    is_cwnd_limited: bool = this.sender.is_window_limited();
}

/// Sample of an acknowledgment.
#[pyclass(frozen, module = "fairwind._core", name = "AckSample")]
pub(crate) struct AckSample {
    pub(crate) report: AckReport,
}

fields! {
    AckSample, this;
    /// Segments taken off the queue.
    pkts_acked: u32 = this.report.acknowledged;
    /// Round trip of the youngest segment in microseconds, if there is one.
    rtt_us: Option<i32> = Some(this.report.rtt_micros).filter(|&rtt| rtt >= 0);
    /// Bytes in flight when that segment was sent.
    in_flight: u32 = this.report.flight_bytes;
}

/// A sample of the delivery rate.
#[pyclass(frozen, module = "fairwind._core", name = "RateSample")]
pub(crate) struct DeliverySample {
    pub(crate) sample: RateSample,
}

fields! {
    DeliverySample, this;
    /// When something had been delivered last as the segment was sent, in microseconds; 0 for an invalid sample.
    prior_mstamp: u64 = this.sample.delivered_at_before_micros;
    /// Segments delivered then.
    prior_delivered: u32 = this.sample.delivered_before;
    /// Segments delivered since; -1 for an invalid sample.
    delivered: i32 = this.sample.delivered;
    /// Of these, with a mark of congestion.
    delivered_ce: i32 = this.sample.marked;
    /// Time in which they were, in microseconds; -1 where there is none.
    interval_us: i64 = this.sample.interval_micros;
    /// Round trip of the youngest segment in microseconds, if there is one.
    rtt_us: Option<i64> = Some(this.sample.rtt_micros).filter(|&rtt| rtt >= 0);
    /// Segments found lost by this acknowledgment.
    losses: i32 = this.sample.losses;
    /// Segments delivered by it.
    acked_sacked: u32 = this.sample.newly_delivered;
    /// In flight before it.
    prior_in_flight: u32 = this.sample.flight_before;
    /// The application limited the rate.
    is_app_limited: bool = this.sample.is_application_limited;
    /// The segment of the sample was sent again.
    is_retrans: bool = this.sample.is_retransmission;
    /// The acknowledgment may have been delayed.
    is_ack_delayed: bool = this.sample.is_delayed;
}
