//! The language: what a script may say, and what is wrong with one that cannot be read.

mod any_text;
mod errors;
mod reading;
