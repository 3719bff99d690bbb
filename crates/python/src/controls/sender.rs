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

/// The sender; windows are in segments.
#[pyclass(module = "fairwind._core", name = "Sender")]
#[derive(Default)]
pub(crate) struct PythonSender {
    pub(crate) sender: TcpSock,
}

#[pymethods]
impl PythonSender {
    /// Congestion window in segments.
    #[getter]
    fn snd_cwnd(&self) -> u32 {
        self.sender.window
    }

    #[setter]
    fn set_snd_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.sender.window = whole("snd_cwnd", value)?;
        Ok(())
    }

    /// Slow-start threshold in segments.
    #[getter]
    fn snd_ssthresh(&self) -> u32 {
        self.sender.threshold
    }

    #[setter]
    fn set_snd_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.sender.threshold = whole("snd_ssthresh", value)?;
        Ok(())
    }

    /// Segments that count towards the window's next growth.
    #[getter]
    fn snd_cwnd_cnt(&self) -> u32 {
        self.sender.credit
    }

    #[setter]
    fn set_snd_cwnd_cnt(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.sender.credit = whole("snd_cwnd_cnt", value)?;
        Ok(())
    }

    /// What will have been delivered once the application's pause is through; 0 for none.
    #[getter]
    fn app_limited(&self) -> u32 {
        self.sender.application_limited
    }

    #[setter]
    fn set_app_limited(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.sender.application_limited = whole("app_limited", value)?;
        Ok(())
    }

    /// Bytes per second at which segments leave.
    #[getter]
    fn sk_pacing_rate(&self) -> u64 {
        self.sender.control.pacing.rate
    }

    #[setter]
    fn set_sk_pacing_rate(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.sender.control.pacing.rate = whole("sk_pacing_rate", value)?;
        Ok(())
    }

    /// 0 none, 1 needed.
    #[getter]
    fn sk_pacing_status(&self) -> u32 {
        self.sender.control.pacing.status
    }

    #[setter]
    fn set_sk_pacing_status(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.sender.control.pacing.status = whole("sk_pacing_status", value)?;
        Ok(())
    }

    /// Window before the last reduction.
    #[getter]
    fn prior_cwnd(&self) -> u32 {
        self.sender.window_before
    }

    /// Greatest window.
    #[getter]
    fn snd_cwnd_clamp(&self) -> u32 {
        self.sender.max_window
    }

    /// Segments outstanding.
    #[getter]
    fn packets_out(&self) -> u32 {
        self.sender.outstanding
    }

    /// Retransmitted segments of these that are under way.
    #[getter]
    fn retrans_out(&self) -> u32 {
        self.sender.retransmitted
    }

    /// Segments of these that are considered lost.
    #[getter]
    fn lost_out(&self) -> u32 {
        self.sender.lost
    }

    /// Segments of these that were selectively acknowledged.
    #[getter]
    fn sacked_out(&self) -> u32 {
        self.sender.sacked
    }

    /// Segments believed to be in the network.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.sender.in_flight()
    }

    /// Segments delivered since the beginning.
    #[getter]
    fn delivered(&self) -> u32 {
        self.sender.delivered
    }

    /// Of these, with a mark of congestion.
    #[getter]
    fn delivered_ce(&self) -> u32 {
        self.sender.delivered_marked
    }

    /// Segments lost since the beginning.
    #[getter(lost)]
    fn losses(&self) -> u32 {
        self.sender.losses
    }

    /// Segments sent again since the beginning.
    #[getter]
    fn total_retrans(&self) -> u32 {
        self.sender.retransmissions
    }

    /// Smoothed round trip in microseconds (the kernel's is in eighths of them); 0 before there is one.
    #[getter]
    fn srtt_us(&self) -> f64 {
        f64::from(self.sender.smoothed_rtt_eighths) / 8.0
    }

    /// Least round trip of late in microseconds, once there was a sample.
    #[getter]
    fn min_rtt_us(&self) -> Option<u32> {
        self.sender.min_rtt()
    }

    /// Now, in microseconds since the experiment began.
    #[getter]
    fn tcp_mstamp(&self) -> u64 {
        self.sender.now_micros
    }

    /// Oldest sequence number outstanding.
    #[getter]
    fn snd_una(&self) -> u32 {
        self.sender.oldest_unacked
    }

    /// Next sequence number to be sent.
    #[getter]
    fn snd_nxt(&self) -> u32 {
        self.sender.next
    }

    /// What was sent when recovery began.
    #[getter]
    fn high_seq(&self) -> u32 {
        self.sender.recovery_end
    }

    /// Bytes of a full segment.
    #[getter]
    fn mss_cache(&self) -> u32 {
        self.sender.segment_bytes
    }

    /// Window that the peer offers in bytes.
    #[getter]
    fn snd_wnd(&self) -> u32 {
        self.sender.peer_window
    }

    /// Bytes acknowledged.
    #[getter]
    fn bytes_acked(&self) -> u64 {
        self.sender.acknowledged_bytes
    }

    /// State of recovery: 0 open, 1 disorder, 2 window reduced, 3 recovery, 4 loss.
    #[getter]
    fn ca_state(&self) -> u8 {
        self.sender.control.state & 31
    }

    /// Whether the window is below the threshold.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.sender.is_in_slow_start()
    }

    /// Whether the window was what kept the sender from sending.
    #[getter]
    fn is_cwnd_limited(&self) -> bool {
        self.sender.is_window_limited()
    }
}

/// Sample of an acknowledgment.
#[pyclass(frozen, module = "fairwind._core", name = "AckSample")]
pub(crate) struct AckSample {
    pub(crate) report: AckReport,
}

#[pymethods]
impl AckSample {
    /// Segments taken off the queue.
    #[getter]
    fn pkts_acked(&self) -> u32 {
        self.report.acknowledged
    }

    /// Round trip of the youngest segment in microseconds, if there is one.
    #[getter]
    fn rtt_us(&self) -> Option<i32> {
        Some(self.report.rtt_micros).filter(|&rtt| rtt >= 0)
    }

    /// Bytes in flight when that segment was sent.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.report.flight_bytes
    }
}

/// A sample of the delivery rate.
#[pyclass(frozen, module = "fairwind._core", name = "RateSample")]
pub(crate) struct DeliverySample {
    pub(crate) sample: RateSample,
}

#[pymethods]
impl DeliverySample {
    /// When something had been delivered last as the segment was sent, in microseconds; 0 for an invalid sample.
    #[getter]
    fn prior_mstamp(&self) -> u64 {
        self.sample.delivered_at_before_micros
    }

    /// Segments delivered then.
    #[getter]
    fn prior_delivered(&self) -> u32 {
        self.sample.delivered_before
    }

    /// Segments delivered since; -1 for an invalid sample.
    #[getter]
    fn delivered(&self) -> i32 {
        self.sample.delivered
    }

    /// Of these, with a mark of congestion.
    #[getter]
    fn delivered_ce(&self) -> i32 {
        self.sample.marked
    }

    /// Time in which they were, in microseconds; -1 where there is none.
    #[getter]
    fn interval_us(&self) -> i64 {
        self.sample.interval_micros
    }

    /// Round trip of the youngest segment in microseconds, if there is one.
    #[getter]
    fn rtt_us(&self) -> Option<i64> {
        Some(self.sample.rtt_micros).filter(|&rtt| rtt >= 0)
    }

    /// Segments found lost by this acknowledgment.
    #[getter]
    fn losses(&self) -> i32 {
        self.sample.losses
    }

    /// Segments delivered by it.
    #[getter]
    fn acked_sacked(&self) -> u32 {
        self.sample.newly_delivered
    }

    /// In flight before it.
    #[getter]
    fn prior_in_flight(&self) -> u32 {
        self.sample.flight_before
    }

    /// The application limited the rate.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.sample.is_application_limited
    }

    /// The segment of the sample was sent again.
    #[getter]
    fn is_retrans(&self) -> bool {
        self.sample.is_retransmission
    }

    /// The acknowledgment may have been delayed.
    #[getter]
    fn is_ack_delayed(&self) -> bool {
        self.sample.is_delayed
    }
}
