//! Service curves of hfsc as `tc` writes them (tc-hfsc(7)): `rt m1 2mbit d 10ms m2 1mbit`, `sc umax 1500b dmax 20ms rate 1mbit`,
//! `ls rate 5mbit`.

use super::words::{TcError, Words, print_rate, print_time};
use crate::HfscClass;
use crate::service_curve::{ServiceCurve, ServiceCurvePieces};
use fairwind_units::ByteCount;
use std::fmt::Write as _;

/// Words before a curve.
pub(super) const CURVES: [&str; 4] = ["rt", "ls", "sc", "ul"];

/// The curves of a class of an hfsc, as far as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct HfscClassBody {
    pub(super) real_time: Option<ServiceCurve>,
    pub(super) link_sharing: Option<ServiceCurve>,
    pub(super) upper_limit: Option<ServiceCurve>,
}

impl HfscClassBody {
    /// Reads the curve that is announced by `key`, one of [`CURVES`].
    pub(super) fn read(&mut self, key: &str, words: &mut Words<'_>) -> Result<(), TcError> {
        let curve = Some(read_curve(words)?);
        match key {
            "rt" => self.real_time = curve,
            "ls" => self.link_sharing = curve,
            "ul" => self.upper_limit = curve,
            _ => (self.real_time, self.link_sharing) = (curve, curve),
        }
        Ok(())
    }

    /// The class, once all is read.
    pub(super) fn finish(self, words: &Words<'_>) -> Result<Self, TcError> {
        if self.real_time.is_none() && self.link_sharing.is_none() {
            return Err(words.wrong("a class of hfsc needs rt, ls or sc: ls rate 5mbit"));
        }
        Ok(self)
    }
}

fn read_curve(words: &mut Words<'_>) -> Result<ServiceCurve, TcError> {
    let begin = words.last;
    let mut pieces = ServiceCurvePieces::default();
    loop {
        if words.take("m1") {
            pieces.m1 = Some(words.rate()?);
        } else if words.take("d") {
            pieces.d = Some(words.time()?);
        } else if words.take("m2") {
            pieces.m2 = Some(words.rate()?);
        } else if words.take("umax") {
            pieces.umax = Some(ByteCount::new(words.bytes()?));
        } else if words.take("dmax") {
            pieces.dmax = Some(words.time()?);
        } else if words.take("rate") {
            pieces.rate = Some(words.rate()?);
        } else {
            return pieces.curve().map_err(|rule| begin.error(format!("the curve: {rule}")));
        }
    }
}

/// The curves of a class.
pub(super) fn print_curves(class: &HfscClass) -> String {
    let mut text = String::new();
    let curves =
        [("rt", &class.real_time), ("ls", &class.link_sharing), ("ul", &class.upper_limit)];
    for (key, curve) in curves {
        let Some(ServiceCurve { m1, d, m2 }) = curve else { continue };
        let _ = write!(text, " {key}");
        if !d.is_zero() || m1.as_bits_per_second() > 0 {
            let _ = write!(text, " m1 {} d {}", print_rate(*m1), print_time(*d));
        }
        let _ = write!(text, " m2 {}", print_rate(*m2));
    }
    text
}
