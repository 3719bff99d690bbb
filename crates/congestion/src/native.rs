//! Tables of hooks in C, and calls of them.
#![expect(unsafe_code, reason = "C is called")]

use fairwind_tcp::{
    AckReport, CongestionControl, ControlFactory, Hooks, MIN_TSO_SEGS, RateSample, RequestedAck,
    TcpSock, WindowEvent,
};
use std::ffi::{CStr, c_char};
use std::sync::Arc;

type PlainHook = unsafe extern "C" fn(*mut TcpSock);
type ByteHook = unsafe extern "C" fn(*mut TcpSock, u8);
type NumberHook = unsafe extern "C" fn(*mut TcpSock, u32);
type AnswerHook = unsafe extern "C" fn(*mut TcpSock) -> u32;
type GrowthHook = unsafe extern "C" fn(*mut TcpSock, u32, u32);
type ReportHook = unsafe extern "C" fn(*mut TcpSock, *const AckReport);
type ControlHook = unsafe extern "C" fn(*mut TcpSock, u32, i32, *const RateSample);

/// The flag of a table that asks for marks (`TCP_CONG_NEEDS_ECN`).
const NEEDS_ECN: u32 = 2;
/// The bit of `ecn_flags` that makes acknowledgments echo a mark (`TCP_ECN_DEMAND_CWR`).
const ECHOES: u8 = 4;

/// `struct tcp_congestion_ops` of `fairwind.h`.
#[repr(C)]
pub(crate) struct Table {
    ssthresh: Option<AnswerHook>,
    cong_avoid: Option<GrowthHook>,
    set_state: Option<ByteHook>,
    cwnd_event: Option<NumberHook>,
    cwnd_event_tx_start: Option<PlainHook>,
    in_ack_event: Option<NumberHook>,
    pkts_acked: Option<ReportHook>,
    min_tso_segs: Option<AnswerHook>,
    cong_control: Option<ControlHook>,
    undo_cwnd: Option<AnswerHook>,
    sndbuf_expand: Option<AnswerHook>,
    get_info: Option<PlainHook>,
    name: [c_char; 16],
    key: u32,
    flags: u32,
    init: Option<PlainHook>,
    release: Option<PlainHook>,
    /// A pointer that nobody follows.
    owner: usize,
}

impl Table {
    /// The name under which a kernel knows it; `None` if it has no end.
    pub(crate) fn kernel_name(&self) -> Option<String> {
        // SAFETY: `char` and `u8` have one size, and the slice is the array's.
        let bytes =
            unsafe { std::slice::from_raw_parts(self.name.as_ptr().cast(), self.name.len()) };
        let name = CStr::from_bytes_until_nul(bytes).ok()?;
        Some(name.to_string_lossy().into_owned())
    }

    /// The hook without which there is no congestion control, if it is missing.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        if self.ssthresh.is_none() {
            Some("ssthresh")
        } else if self.undo_cwnd.is_none() {
            Some("undo_cwnd")
        } else if self.cong_avoid.is_none() && self.cong_control.is_none() {
            Some("cong_avoid or cong_control")
        } else {
            None
        }
    }

    fn has_window_events(&self) -> bool {
        self.cwnd_event.is_some() || self.cwnd_event_tx_start.is_some()
    }

    fn hooks(&self) -> Hooks {
        let bit = |has: bool, hook| if has { hook } else { Hooks::default() };
        bit(self.in_ack_event.is_some(), Hooks::IN_ACK_EVENT)
            .and(bit(self.pkts_acked.is_some(), Hooks::PKTS_ACKED))
            .and(bit(self.cong_control.is_some(), Hooks::CONG_CONTROL))
            .and(bit(self.set_state.is_some(), Hooks::SET_STATE))
            .and(bit(self.has_window_events(), Hooks::CWND_EVENT))
            .and(bit(self.undo_cwnd.is_some(), Hooks::UNDO_CWND))
            .and(bit(self.ssthresh.is_some(), Hooks::SSTHRESH))
            .and(bit(self.cong_avoid.is_some(), Hooks::CONG_AVOID))
            .and(bit(self.min_tso_segs.is_some(), Hooks::MIN_TSO_SEGS))
            .and(bit(self.flags & NEEDS_ECN != 0, Hooks::NEEDS_ECN))
    }
}

/// Declares the functions of `native/support.c`, once for the built-in algorithms and once for a library.
macro_rules! calls {
    ($($call:ident = $symbol:ident($($kind:ty),+) -> $answer:ty;)+) => {
        /// The calls of `native/support.c`: each library has its own, with its own clock.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct Calls {
            $($call: unsafe extern "C" fn($($kind),+) -> $answer,)+
        }

        unsafe extern "C" {
            $(fn $symbol($(_: $kind),+) -> $answer;)+
        }

        impl Calls {
            /// The built-in algorithms.
            pub(crate) const OURS: Self = Self { $($call: $symbol,)+ };

            /// # Safety
            /// The functions of the library must have these types.
            pub(crate) unsafe fn of(
                library: &libloading::Library,
            ) -> Result<Self, libloading::Error> {
                // SAFETY: by the caller's promise.
                unsafe { Ok(Self { $($call: *library.get(stringify!($symbol).as_bytes())?,)+ }) }
            }
        }
    };
}

calls! {
    plain = fairwind_call_plain(PlainHook, u64, *mut TcpSock) -> bool;
    number = fairwind_call_number(NumberHook, u64, *mut TcpSock, u32) -> bool;
    answer = fairwind_call_answer(AnswerHook, u64, *mut TcpSock, *mut u32) -> bool;
    growth = fairwind_call_growth(GrowthHook, u64, *mut TcpSock, u32, u32) -> bool;
    report = fairwind_call_report(ReportHook, u64, *mut TcpSock, *const AckReport) -> bool;
    both = fairwind_call_both(ReportHook, GrowthHook, u64, *mut TcpSock, *const AckReport, u32, u32) -> bool;
    control = fairwind_call_control(ControlHook, u64, *mut TcpSock, u32, i32, *const RateSample) -> bool;
    fault = fairwind_fault(*mut u32) -> u32;
    take_requested_ack = fairwind_take_asked(*mut u32, *mut u8) -> bool;
}

/// Makes algorithms of one table.
pub(crate) struct NativeFactory {
    name: String,
    table: &'static Table,
    calls: Calls,
    /// What the table lies in, where that was loaded.
    library: Option<Arc<libloading::Library>>,
}

impl std::fmt::Debug for NativeFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativeFactory").field("name", &self.name).finish_non_exhaustive()
    }
}

impl NativeFactory {
    /// # Safety
    /// The table must live as long as the process, or as `library`, which is kept.
    pub(crate) unsafe fn new(
        name: String,
        table: *const Table,
        calls: Calls,
        library: Option<Arc<libloading::Library>>,
    ) -> Self {
        // SAFETY: by the caller's promise.
        let table = unsafe { &*table };
        Self { name, table, calls, library }
    }

    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }
}

impl ControlFactory for NativeFactory {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self) -> Box<dyn CongestionControl> {
        Box::new(NativeControl {
            table: self.table,
            calls: self.calls,
            library: self.library.clone(),
            asked: None,
            complaint: None,
        })
    }
}

/// One connection's algorithm; its state lies in the [`TcpSock`].
struct NativeControl {
    table: &'static Table,
    calls: Calls,
    /// Keeps what is called loaded; none if that is linked in.
    library: Option<Arc<libloading::Library>>,
    asked: Option<RequestedAck>,
    complaint: Option<String>,
}

impl std::fmt::Debug for NativeControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativeControl")
            .field("name", &self.table.kernel_name().unwrap_or_default())
            .finish_non_exhaustive()
    }
}

impl NativeControl {
    /// Notes where a call did not come back as it should.
    #[inline]
    fn judge(&mut self, is_whole: bool, hook: &str) {
        if !is_whole {
            self.complain(hook);
        }
    }

    #[cold]
    fn complain(&mut self, hook: &str) {
        let mut line = 0;
        // SAFETY: the function writes a number and gives one.
        let fault = unsafe { (self.calls.fault)(&raw mut line) };
        let name = self.table.kernel_name().unwrap_or_default();
        self.complaint.get_or_insert_with(|| complaint(&name, hook, fault, line));
    }

    /// Requests since the last call.
    fn asked_of_library(&self) -> Option<RequestedAck> {
        let (mut number, mut flags) = (0, 0);
        // SAFETY: the function writes a number and a byte.
        let is_asked = unsafe { (self.calls.take_requested_ack)(&raw mut number, &raw mut flags) };
        is_asked.then_some(RequestedAck { number, echoes: flags & ECHOES != 0 })
    }

    fn answer(
        &mut self,
        hook: Option<AnswerHook>,
        name: &str,
        sender: &mut TcpSock,
        otherwise: u32,
    ) -> u32 {
        let mut answer = otherwise;
        if let Some(hook) = hook {
            let (now, place) = (sender.now_nanos, &raw mut answer);
            // SAFETY: the hook is the table's, and `TcpSock` lies in memory as C has it (a test compares).
            let is_whole = unsafe { (self.calls.answer)(hook, now, sender, place) };
            self.judge(is_whole, name);
        }
        answer
    }

    fn plain(&mut self, hook: Option<PlainHook>, name: &str, sender: &mut TcpSock) {
        if let Some(hook) = hook {
            // SAFETY: as above.
            let is_whole = unsafe { (self.calls.plain)(hook, sender.now_nanos, sender) };
            self.judge(is_whole, name);
        }
    }

    fn number(&mut self, hook: Option<NumberHook>, name: &str, sender: &mut TcpSock, number: u32) {
        if let Some(hook) = hook {
            // SAFETY: as above.
            let is_whole = unsafe { (self.calls.number)(hook, sender.now_nanos, sender, number) };
            self.judge(is_whole, name);
        }
    }
}

/// Words for a number of `enum fault` in `native/support.c`.
fn complaint(name: &str, hook: &str, fault: u32, line: u32) -> String {
    let place = if line == 0 { String::new() } else { format!(", at line {line} of its source") };
    let (done, advice) = match fault {
        1 => ("divided by zero", "guard the divisor there"),
        2 => ("divided the least number by -1", "guard the divisor there"),
        3 => ("did not end", "give its loops a bound that is a constant"),
        4 => ("called itself too deeply", "a kernel gives it 512 bytes of stack"),
        5 => ("followed a null pointer", "look at the pointer first"),
        6 => ("went beyond its state", "icsk_ca_priv has 104 bytes"),
        7 => (
            "wrote a field that no kernel lets it write",
            "fairwind.h lists the writable fields at its beginning",
        ),
        9 => (
            "asked for a socket option, which the simulator does not have",
            "set what the option stands for in the scenario",
        ),
        10 => (
            "asked for storage of a socket, which the simulator does not have",
            "keep the state in icsk_ca_priv",
        ),
        _ => ("touched memory that is not its own", "look at its pointers and indices"),
    };
    format!("{name} {done} in {hook}{place}, and was ended: {advice}")
}

impl CongestionControl for NativeControl {
    fn hooks(&self) -> Hooks {
        let hooks = self.table.hooks();
        // The repository's files are known (a test looks at them), others' are not.
        if self.library.is_none() { hooks.and(Hooks::USES_FEW_FIELDS) } else { hooks }
    }

    fn init(&mut self, sender: &mut TcpSock) {
        self.plain(self.table.init, "init", sender);
    }

    fn release(&mut self, sender: &mut TcpSock) {
        self.plain(self.table.release, "release", sender);
    }

    fn ssthresh(&mut self, sender: &mut TcpSock) -> u32 {
        self.answer(self.table.ssthresh, "ssthresh", sender, 2)
    }

    fn cong_avoid(&mut self, sender: &mut TcpSock, acknowledgment: u32, segments: u32) {
        if let Some(hook) = self.table.cong_avoid {
            let now = sender.now_nanos;
            // SAFETY: as above.
            let is_whole =
                unsafe { (self.calls.growth)(hook, now, sender, acknowledgment, segments) };
            self.judge(is_whole, "cong_avoid");
        }
    }

    fn acknowledge(
        &mut self,
        sender: &mut TcpSock,
        report: &AckReport,
        acknowledgment: u32,
        segments: u32,
    ) {
        let (Some(reports), Some(grows)) = (self.table.pkts_acked, self.table.cong_avoid) else {
            return;
        };
        let (call, now) = (self.calls.both, sender.now_nanos);
        // SAFETY: as above.
        let is_whole =
            unsafe { call(reports, grows, now, sender, report, acknowledgment, segments) };
        self.judge(is_whole, "pkts_acked or cong_avoid");
    }

    fn cong_control(
        &mut self,
        sender: &mut TcpSock,
        acknowledgment: u32,
        flags: i32,
        sample: &RateSample,
    ) {
        if let Some(hook) = self.table.cong_control {
            let now = sender.now_nanos;
            // SAFETY: as above; `RateSample` lies in memory as C has it, too.
            let is_whole =
                unsafe { (self.calls.control)(hook, now, sender, acknowledgment, flags, sample) };
            self.judge(is_whole, "cong_control");
        }
    }

    fn set_state(&mut self, sender: &mut TcpSock, state: u8) {
        if let Some(hook) = self.table.set_state {
            // SAFETY: a byte is handed over as a number of 32 bits in every calling convention that is
            // supported, and the provider looks at its lowest eight.
            let hook = unsafe { std::mem::transmute::<ByteHook, NumberHook>(hook) };
            self.number(Some(hook), "set_state", sender, state.into());
        }
    }

    fn cwnd_event(&mut self, sender: &mut TcpSock, event: WindowEvent) {
        let number = match event {
            WindowEvent::SendingBegins => 0,
            WindowEvent::Restarted => 1,
            WindowEvent::Reduced => 2,
            WindowEvent::TimedOut => 3,
            WindowEvent::UnmarkedData => 4,
            WindowEvent::MarkedData => 5,
        };
        if event == WindowEvent::SendingBegins && self.table.cwnd_event_tx_start.is_some() {
            return self.plain(self.table.cwnd_event_tx_start, "cwnd_event_tx_start", sender);
        }
        if self.table.cwnd_event.is_none() {
            return;
        }
        // Another connection's algorithm may have asked at an occasion at which nobody answers.
        self.asked_of_library();
        self.number(self.table.cwnd_event, "cwnd_event", sender, number);
        self.asked = self.asked_of_library();
    }

    fn in_ack_event(&mut self, sender: &mut TcpSock, flags: u32) {
        self.number(self.table.in_ack_event, "in_ack_event", sender, flags);
    }

    fn pkts_acked(&mut self, sender: &mut TcpSock, report: &AckReport) {
        if let Some(hook) = self.table.pkts_acked {
            // SAFETY: as above.
            let is_whole = unsafe { (self.calls.report)(hook, sender.now_nanos, sender, report) };
            self.judge(is_whole, "pkts_acked");
        }
    }

    fn undo_cwnd(&mut self, sender: &mut TcpSock) -> u32 {
        let otherwise = sender.window.max(sender.window_before);
        self.answer(self.table.undo_cwnd, "undo_cwnd", sender, otherwise)
    }

    fn min_tso_segs(&mut self, sender: &mut TcpSock) -> u32 {
        self.answer(self.table.min_tso_segs, "min_tso_segs", sender, MIN_TSO_SEGS)
    }

    fn take_requested_ack(&mut self) -> Option<RequestedAck> {
        self.asked.take()
    }

    fn take_fault(&mut self) -> Option<String> {
        self.complaint.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// They are promised not to, by [`Hooks::USES_FEW_FIELDS`].
    #[test]
    fn repository_files_use_only_provided_fields() {
        let hidden = [
            "icsk_retransmits",
            "prior_ssthresh",
            "prr_delivered",
            "prr_out",
            "reordering",
            "total_retrans",
            "write_seq",
            "high_seq",
            "snd_wnd",
            "bytes_acked",
            "segs_out",
            "tcp_wstamp_ns",
            "mdev_us",
            "rttvar_us",
        ];
        for name in crate::names() {
            let source = crate::source_of(&name).expect("it is there");
            for field in hidden {
                assert!(!source.contains(&format!("->{field}")), "{name}: {field}");
            }
        }
    }

    unsafe extern "C" {
        static fairwind_layout: [u32; 43];
    }

    /// The structures of `fairwind.h` and those of Rust are the same bytes.
    #[test]
    fn sender_layout_matches_c() {
        let ours = [
            size_of::<TcpSock>(),
            offset_of!(TcpSock, control.pacing.rate),
            offset_of!(TcpSock, control.pacing.shift),
            offset_of!(TcpSock, control.timeouts),
            offset_of!(TcpSock, control.pending),
            offset_of!(TcpSock, control.private),
            offset_of!(TcpSock, window),
            offset_of!(TcpSock, threshold),
            offset_of!(TcpSock, reduction_delivered),
            offset_of!(TcpSock, max_outstanding),
            offset_of!(TcpSock, ecn_flags),
            offset_of!(TcpSock, outstanding),
            offset_of!(TcpSock, application_limited),
            offset_of!(TcpSock, smoothed_rtt_eighths),
            offset_of!(TcpSock, min_rtt_micros),
            offset_of!(TcpSock, now_micros),
            offset_of!(TcpSock, now_nanos),
            offset_of!(TcpSock, oldest_unacked),
            offset_of!(TcpSock, segment_bytes),
            offset_of!(TcpSock, acknowledged_bytes),
            offset_of!(TcpSock, counting),
            offset_of!(TcpSock, timestamp),
            size_of::<RateSample>(),
            offset_of!(RateSample, delivered_at_before_micros),
            offset_of!(RateSample, delivered_before),
            offset_of!(RateSample, marked_before),
            offset_of!(RateSample, delivered),
            offset_of!(RateSample, marked),
            offset_of!(RateSample, interval_micros),
            offset_of!(RateSample, sending_micros),
            offset_of!(RateSample, acknowledging_micros),
            offset_of!(RateSample, rtt_micros),
            offset_of!(RateSample, losses),
            offset_of!(RateSample, newly_delivered),
            offset_of!(RateSample, flight_before),
            offset_of!(RateSample, end),
            offset_of!(RateSample, is_application_limited),
            offset_of!(RateSample, is_retransmission),
            offset_of!(RateSample, is_delayed),
            size_of::<AckReport>(),
            offset_of!(AckReport, rtt_micros),
            offset_of!(AckReport, flight_bytes),
            size_of::<Table>(),
        ];
        // SAFETY: the array is constant and has so many numbers.
        let theirs = unsafe { fairwind_layout };
        assert_eq!(ours.map(|bytes| u32::try_from(bytes).expect("small")), theirs);
    }
}
