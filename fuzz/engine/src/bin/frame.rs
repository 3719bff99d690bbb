//! libFuzzer in front of `fairwind_fuzz::frame`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairwind_fuzz::frame(bytes));
