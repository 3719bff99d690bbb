//! Experiments on a Linux kernel in virtual time.
//!
//! A User-Mode Linux kernel with time travel is an ordinary process whose clock jumps to the next event when it is idle,
//! and in which computing takes no time. [`Instance`] starts one for each [`Task`]; its first process is the worker
//! ([`worker`]), which runs the testbed inside, writes an [`Answer`] and powers off.
//!
//! | module | concern |
//! |---|---|
//! | `instance` | the process of a kernel, from its command line to its end |
//! | `console` | what a kernel prints, and what that says about its end |
//! | `task` | what a worker is asked to do, and what it answers |
//! | `transfer` | measured tables as bytes |
//! | [`worker`] | the first process of an instance |
//! | `inside` | what experiments and programs in an instance have in common |
//! | `program` | a real program behind an emulated path, inside an instance |
//! | `printed` | what programs in an instance print |

mod console;
mod inside;
mod instance;
mod printed;
mod program;
mod task;
mod transfer;
pub mod worker;

pub use instance::{Instance, InstanceError, VirtualKernel};
pub use task::{
    Answer, Control, ExperimentTask, FailureKind, ProgramAnswer, ProgramTask, RunAnswer,
    ScriptAnswer, ScriptTask, Task, TaskFailure,
};
pub use transfer::TransferTable;
