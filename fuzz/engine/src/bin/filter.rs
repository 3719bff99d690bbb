//! libFuzzer in front of `fairwind_fuzz::filter`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairwind_fuzz::filter(bytes));
