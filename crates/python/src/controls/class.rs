//! A class of Python as a congestion control: its methods are the hooks.

use super::sender::{AckSample, DeliverySample, PythonSender};
use crate::errors::FairwindError;
use fairwind_scenario::PluggedControl;
use fairwind_simulation::Control;
use fairwind_tcp::{
    AckReport, CongestionControl, ControlFactory, Hooks, RateSample, TcpSock, WindowEvent,
};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

create_exception!(
    fairwind._core,
    ControlFault,
    FairwindError,
    "A class that serves as a congestion control has raised an exception, which is the cause."
);

/// Least threshold in segments.
const LEAST: u32 = 2;
/// States of recovery from which on there was a loss (Linux `TCP_CA_Recovery`, `TCP_CA_Loss`).
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// Methods that a class may have, and the hooks that they are called at.
const METHODS: [(&str, Hooks); 10] = [
    ("ssthresh", Hooks::SSTHRESH),
    ("on_ack", Hooks::CONG_AVOID),
    ("cong_avoid", Hooks::CONG_AVOID),
    ("cong_control", Hooks::CONG_CONTROL),
    ("on_loss", Hooks::SET_STATE),
    ("set_state", Hooks::SET_STATE),
    ("cwnd_event", Hooks::CWND_EVENT),
    ("in_ack_event", Hooks::IN_ACK_EVENT),
    ("pkts_acked", Hooks::PKTS_ACKED),
    ("undo_cwnd", Hooks::UNDO_CWND),
];

/// Where the first exception is left, and what is stopped then.
#[derive(Clone, Default)]
pub(crate) struct Fault {
    exception: Arc<Mutex<Option<(String, PyErr)>>>,
    control: Arc<Control>,
}

impl Fault {
    pub(crate) fn new(control: Arc<Control>) -> Self {
        Self { exception: Arc::default(), control }
    }

    /// The exception, if there was one, as the cause of an exception that names the congestion control.
    pub(crate) fn take(&self, py: Python<'_>) -> Option<PyErr> {
        let left = self.exception.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (name, exception) = left?;
        let message = format!("the congestion control \"{name}\" has raised an exception");
        let fault = ControlFault::new_err(message);
        fault.set_cause(py, Some(exception));
        Some(fault)
    }

    fn leave(&self, name: &str, exception: PyErr) {
        let mut place = self.exception.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert_with(|| (name.to_owned(), exception));
        self.control.cancel();
    }
}

/// Makes an object of the class for each connection.
pub(crate) struct PythonFactory {
    name: String,
    class: Py<PyAny>,
    /// Keyword arguments of each object.
    parameters: Py<PyDict>,
    hooks: Hooks,
    methods: Vec<&'static str>,
    fault: Fault,
}

impl PythonFactory {
    pub(crate) fn new(
        py: Python<'_>,
        control: &PluggedControl,
        class: &Py<PyAny>,
        fault: Fault,
    ) -> PyResult<Self> {
        let has = |method: &str| class.bind(py).hasattr(method).unwrap_or(false);
        let mut hooks = Hooks::SSTHRESH.and(Hooks::CONG_AVOID);
        let mut methods = Vec::new();
        for (method, hook) in METHODS {
            if has(method) {
                hooks = hooks.and(hook);
                methods.push(method);
            }
        }
        methods.extend(["init", "release"].into_iter().filter(|method| has(method)));
        let parameters = PyDict::new(py);
        for (name, value) in control.parameters() {
            parameters.set_item(name, python_value(py, &value)?)?;
        }
        Ok(Self {
            name: control.label(),
            class: class.clone_ref(py),
            parameters: parameters.unbind(),
            hooks,
            methods,
            fault,
        })
    }
}

/// A parameter as Python has it.
fn python_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Bool(truth) => Ok(truth.into_pyobject(py)?.to_owned().into_any()),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Ok(whole.into_pyobject(py)?.into_any()),
            None => Ok(number.as_f64().into_pyobject(py)?.into_any()),
        },
        Value::String(text) => Ok(text.into_pyobject(py)?.into_any()),
        other => Err(PyValueError::new_err(format!("{other} is not a parameter"))),
    }
}

impl std::fmt::Debug for PythonFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PythonFactory").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ControlFactory for PythonFactory {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self) -> Box<dyn CongestionControl> {
        let made = Python::attach(|py| {
            let sender = Py::new(py, PythonSender::default())?;
            Ok((self.class.call(py, (), Some(self.parameters.bind(py)))?, sender))
        });
        let parts = made.map_err(|exception| self.fault.leave(&self.name, exception)).ok();
        Box::new(PythonControl {
            parts,
            name: self.name.clone(),
            hooks: self.hooks,
            methods: self.methods.clone(),
            fault: self.fault.clone(),
        })
    }
}

/// An object of the class at work on one connection.
struct PythonControl {
    /// The object and what it sees of the sender; none if it could not be made.
    parts: Option<(Py<PyAny>, Py<PythonSender>)>,
    name: String,
    hooks: Hooks,
    methods: Vec<&'static str>,
    fault: Fault,
}

impl std::fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PythonControl").finish_non_exhaustive()
    }
}

impl PythonControl {
    fn has(&self, method: &str) -> bool {
        self.methods.contains(&method)
    }

    /// Calls a method with the sender and `further` arguments, and takes over what it wrote.
    fn call<R>(
        &mut self,
        method: &str,
        sender: &mut TcpSock,
        further: impl for<'py> FnOnce(Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>>,
        answer: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Option<R> {
        let (object, seen) = self.parts.as_ref()?;
        let called = Python::attach(|py| {
            seen.borrow_mut(py).sender = *sender;
            let mut arguments = vec![seen.bind(py).clone().into_any()];
            arguments.extend(further(py)?);
            let answered = object.bind(py).call_method1(method, PyTuple::new(py, arguments)?)?;
            *sender = seen.borrow(py).sender;
            answer(&answered)
        });
        match called {
            Ok(answer) => Some(answer),
            Err(exception) => {
                self.fault.leave(&self.name, exception);
                // Nothing of it is called any more: the run is about to end.
                self.parts = None;
                None
            }
        }
    }

    fn call_hook(
        &mut self,
        method: &str,
        sender: &mut TcpSock,
        further: impl for<'py> FnOnce(Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>>,
    ) {
        if self.has(method) {
            self.call(method, sender, further, |_| Ok(()));
        }
    }

    /// A number of segments that a method gives.
    fn ask(&mut self, method: &'static str, sender: &mut TcpSock) -> Option<u32> {
        let segments = |answer: &Bound<'_, PyAny>| {
            answer.extract::<u32>().map_err(|_| {
                let said = answer.repr().map_or_else(|_| String::new(), |text| text.to_string());
                PyValueError::new_err(format!(
                    "{method}() gave {said}: it has to give a whole number of segments, 0 or more"
                ))
            })
        };
        self.call(method, sender, |_| Ok(Vec::new()), segments)
    }
}

impl CongestionControl for PythonControl {
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn init(&mut self, sender: &mut TcpSock) {
        self.call_hook("init", sender, |_| Ok(Vec::new()));
    }

    fn release(&mut self, sender: &mut TcpSock) {
        self.call_hook("release", sender, |_| Ok(Vec::new()));
    }

    fn ssthresh(&mut self, sender: &mut TcpSock) -> u32 {
        let half = (sender.window / 2).max(LEAST);
        if self.has("ssthresh") { self.ask("ssthresh", sender).unwrap_or(half) } else { half }
    }

    fn cong_avoid(&mut self, sender: &mut TcpSock, acknowledgment: u32, segments: u32) {
        self.call_hook("on_ack", sender, |py| Ok(vec![segments.into_pyobject(py)?.into_any()]));
        self.call_hook("cong_avoid", sender, |py| {
            let acknowledgment = acknowledgment.into_pyobject(py)?.into_any();
            Ok(vec![acknowledgment, segments.into_pyobject(py)?.into_any()])
        });
    }

    fn cong_control(
        &mut self,
        sender: &mut TcpSock,
        acknowledgment: u32,
        flags: i32,
        sample: &RateSample,
    ) {
        self.call_hook("cong_control", sender, |py| {
            Ok(vec![
                acknowledgment.into_pyobject(py)?.into_any(),
                flags.into_pyobject(py)?.into_any(),
                Bound::new(py, DeliverySample { sample: *sample })?.into_any(),
            ])
        });
    }

    fn set_state(&mut self, sender: &mut TcpSock, state: u8) {
        if state == RECOVERY || state == LOSS {
            self.call_hook("on_loss", sender, |_| Ok(Vec::new()));
        }
        self.call_hook("set_state", sender, |py| Ok(vec![state.into_pyobject(py)?.into_any()]));
    }

    fn cwnd_event(&mut self, sender: &mut TcpSock, event: WindowEvent) {
        let name = match event {
            WindowEvent::SendingBegins => "tx_start",
            WindowEvent::Restarted => "cwnd_restart",
            WindowEvent::Reduced => "complete_cwr",
            WindowEvent::TimedOut => "loss",
            WindowEvent::UnmarkedData => "ecn_no_ce",
            WindowEvent::MarkedData => "ecn_is_ce",
        };
        self.call_hook("cwnd_event", sender, |py| Ok(vec![name.into_pyobject(py)?.into_any()]));
    }

    fn in_ack_event(&mut self, sender: &mut TcpSock, flags: u32) {
        self.call_hook("in_ack_event", sender, |py| Ok(vec![flags.into_pyobject(py)?.into_any()]));
    }

    fn pkts_acked(&mut self, sender: &mut TcpSock, report: &AckReport) {
        self.call_hook("pkts_acked", sender, |py| {
            Ok(vec![Bound::new(py, AckSample { report: *report })?.into_any()])
        });
    }

    fn undo_cwnd(&mut self, sender: &mut TcpSock) -> u32 {
        let before = sender.window.max(sender.window_before);
        if self.has("undo_cwnd") { self.ask("undo_cwnd", sender).unwrap_or(before) } else { before }
    }
}
