//! The script language: parser, text form, parse errors.

mod any_text;
mod errors;
mod reading;
