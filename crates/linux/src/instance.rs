//! The first process of a system: mounts, entropy and the end of the system.
//!
//! Starting a process that ends with the thread that started it.

use crate::{KernelError, Raw, checked};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::mount::{MountFlags, mount, mount_bind};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::ffi::CStr;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File systems that a Linux system has besides its files, and where.
const MOUNTS: [(&CStr, &CStr); 6] = [
    (c"proc", c"/proc"),
    (c"sysfs", c"/sys"),
    (c"devtmpfs", c"/dev"),
    (c"devpts", c"/dev/pts"),
    (c"tmpfs", c"/run"),
    (c"cgroup2", c"/sys/fs/cgroup"),
];

/// `struct rand_pool_info` with as many bytes as a seed has.
#[repr(C)]
struct RandomPool {
    entropy_bits: i32,
    bytes: i32,
    seed: [u8; SEED_BYTES],
}

/// Bytes that the kernel's generator of random numbers is begun with.
const SEED_BYTES: usize = 32;
/// `RNDADDENTROPY`.
const ADD_ENTROPY: libc::c_ulong = 0x4008_5203;

/// Mounts the file systems of a Linux system, as its first process does.
pub fn mount_system() -> Result<(), KernelError> {
    for (kind, target) in MOUNTS {
        // Terminals have no folder before; everything else has.
        let _ = fs::create_dir(target.to_string_lossy().as_ref());
        let nothing = std::ptr::null();
        // SAFETY: all texts are C strings that live over the call; no data is given.
        let result =
            unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, nothing) };
        let attempt =
            || format!("mount {} on {}", kind.to_string_lossy(), target.to_string_lossy());
        match checked(&attempt(), Raw::of(result.into()).result()) {
            // The kernel itself may have mounted it.
            Ok(_) | Err(KernelError::System { errno: libc::EBUSY, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Redirects standard output and standard error to two terminals without processing, and standard input to nothing.
pub fn redirect_standard_streams(terminals: [&Path; 2]) -> Result<(), KernelError> {
    let open = |path: &Path| {
        let file = File::options().read(true).write(true).open(path);
        checked(&format!("open {}", path.display()), file)
    };
    let [output, errors] = terminals;
    let (nothing, output, errors) = (open(Path::new("/dev/null"))?, open(output)?, open(errors)?);
    for terminal in [&output, &errors] {
        let mut settings = checked("read the settings of a terminal", tcgetattr(terminal))?;
        settings.make_raw();
        let set = tcsetattr(terminal, OptionalActions::Now, &settings);
        checked("change the settings of a terminal", set)?;
    }
    let replaced = dup2_stdin(&nothing).and_then(|()| dup2_stdout(&output));
    checked("replace standard output", replaced.and_then(|()| dup2_stderr(&errors)))
}

/// Where the first process of a system finds what [`empty_folder`] hides.
const HIDDEN: &str = "/run/fairwind-hidden";

/// Mounts an empty file system on `folder`, once per system; what is `kept` below it stays as it is.
pub fn empty_folder(folder: &Path, kept: &[PathBuf]) -> Result<(), KernelError> {
    let attempt = format!("empty {}", folder.display());
    let hidden = Path::new(HIDDEN);
    checked(&attempt, fs::create_dir(hidden))?;
    checked(&attempt, mount_bind(folder, hidden))?;
    checked(&attempt, mount("tmpfs", folder, "tmpfs", MountFlags::empty(), None))?;
    for path in kept {
        let Ok(inside) = path.strip_prefix(folder) else { continue };
        checked(&attempt, fs::create_dir_all(path))?;
        checked(&attempt, mount_bind(hidden.join(inside), path))?;
    }
    Ok(())
}

/// Adds `seed` to the entropy of the system's generator of random numbers, and has it used at once.
pub fn seed_random_numbers(seed: [u8; SEED_BYTES]) -> Result<(), KernelError> {
    let failed = |error: std::io::Error| KernelError::System {
        attempt: "open /dev/urandom".to_owned(),
        reason: error.to_string(),
        errno: error.raw_os_error().unwrap_or(0),
    };
    let device = File::options().write(true).open("/dev/urandom").map_err(failed)?;
    let bytes = i32::try_from(SEED_BYTES).unwrap_or(0);
    let mut pool = RandomPool { entropy_bits: bytes * 8, bytes, seed };
    // SAFETY: `RNDADDENTROPY` takes a `rand_pool_info`, whose bytes follow it; it lives over the call.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), ADD_ENTROPY, &raw mut pool) };
    checked("seed the kernel's random numbers", Raw::of(result.into()).result()).map(|_| ())
}

/// Ends the system. It returns only where this process may not do that.
pub fn power_off() {
    // SAFETY: takes no pointers.
    unsafe {
        libc::sync();
        libc::reboot(libc::LINUX_REBOOT_CMD_POWER_OFF);
    }
}

/// Has the process of `command` killed when the thread that starts it ends, however that happens. The process leads a
/// process group of its own, has the same addresses each time it is started, and dumps no core.
pub fn bind_to_thread(command: &mut Command) -> &mut Command {
    let starter = std::process::id();
    command.process_group(0);
    // SAFETY: only system calls that may be made between `fork` and `exec`; they take no pointers to memory that
    // another thread could hold.
    unsafe {
        command.pre_exec(move || {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::personality(0x0004_0000); // ADDR_NO_RANDOMIZE
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            // A starter that has ended already sends no signal any more.
            if libc::getppid().unsigned_abs() != starter {
                return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        })
    }
}

/// Bytes that may still be written below a folder; `None` where that cannot be told.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: all zero is a valid `statvfs`.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a C string, and both live over the call.
    let result = unsafe { libc::statvfs(path.as_ptr(), &raw mut found) };
    (result == 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

/// Gives back the space of the first `bytes` of a file, which reads as zeros there. Some file systems cannot.
pub fn free_beginning(file: &File, bytes: u64) {
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let _ = fallocate(file, hole, 0, bytes);
}
