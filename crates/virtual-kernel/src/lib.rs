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
//! | `task` | what a worker is asked to do, and what it answers; what its tasks have in common |
//! | [`worker`] | the first process of an instance |
//! | `program` | a real program behind an emulated path, inside an instance |
//! | `program_output` | what programs in an instance print |

mod console;
mod instance;
mod program;
mod program_output;
mod task;
pub mod worker;

pub use instance::{Instance, InstanceError, VirtualKernel};
pub use task::{
    Answer, Control, ExperimentTask, FailureKind, ProgramAnswer, ProgramTask, RunAnswer,
    ScriptAnswer, ScriptTask, Task, TaskFailure, TransferTable,
};
