//! Congestion controls written in C, as for the Linux kernel, at work in our endpoint.
//!
//! One file per algorithm lies in `congestion/`; `congestion/include/fairwind.h` tells what one may use. Here
//! they are compiled natively, and called through the endpoint's
//! [`CongestionControl`](fairwind_tcp::CongestionControl); compiled for eBPF, the same files go into a running kernel. A file of
//! anybody's own is compiled at run time ([`compile`]) and loaded.
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
//! | `catalogue` | the algorithms of this repository, and names |
//! | `compile` | sources into libraries and into eBPF objects |
//! | `endless` | loops without an end in which nothing happens |
//! | `library` | compiled libraries, loaded |
//! | `parameters` | parameters that a source declares |
//! | `source` | what a source is made into before it is compiled |
//! | `words` | what compilers say: names that a source has of its own, and what it includes |
//! | `names` | under which names kernels know congestion controls |

mod catalogue;
mod compile;
mod endless;
mod library;
mod names;
mod native;
mod parameters;
mod source;
mod words;

pub use catalogue::{built_in, kernel_name_of, names, object_of, source_of};
pub use compile::{CompileError, Compiled, compile, compile_object, interface};
pub use library::{LoadError, kernel_name, load, load_with};
pub use names::owner_of_kernel_name;
pub use parameters::{Parameter, parameters};
