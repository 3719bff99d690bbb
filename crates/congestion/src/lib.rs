//! Congestion controls in C, as for the Linux kernel, for our endpoint.
//!
//! One file per algorithm lies in `congestion/`; `congestion/include/fairwind.h` is their interface. Here
//! they are compiled natively, and called through the endpoint's
//! [`CongestionControl`](fairwind_tcp::CongestionControl); compiled for eBPF, the same files go into a running kernel. A file of
//! a user's file is compiled at run time ([`compile`]) and loaded.
//!
//! ```
//! let scalable = fairwind_congestion::built_in("reno-c").expect("it is there");
//! assert_eq!(scalable.0.name(), "reno-c");
//! ```
//!
//! A hook that divides by zero, which the kernel's verifier has give 0, ends there: what it had written
//! holds, and the connection has a complaint that names the line. So does one of anybody's own that does not end by itself,
//! follows a null pointer, or writes what is not its own.
//!
//! | module | concern |
//! |---|---|
//! | `native` | tables of hooks, and calling them |
//! | `catalogue` | the algorithms of this repository, and the names of congestion controls in kernels |
//! | `compile` | sources into libraries and into eBPF objects |
//! | `diagnostics` | compiler output: names defined twice, included files, endless loops |
//! | `library` | compiled libraries, loaded, and their parameters |
//! | `source` | what a source is made into before it is compiled |

mod catalogue;
mod compile;
mod diagnostics;
mod library;
mod native;
mod source;

pub use catalogue::{built_in, kernel_name_of, names, object_of, owner_of_kernel_name, source_of};
pub use compile::{CompileError, Compiled, compile, compile_object, interface};
pub use library::{LoadError, Parameter, kernel_name, load, load_with, parameters};
