//! libFuzzer in front of `fairwind_fuzz::analysis`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairwind_fuzz::analysis(bytes));
