//! The program at a control group, with and without a name, and its maps.

use super::group::{self, ControlGroup};
use super::options::{Entry, WindowCounts};
use super::{WindowOptions, WindowsError};
use fairwind_bpf::libbpf_log;
use libbpf_rs::query::{
    LinkInfo, LinkInfoIter, LinkTypeInfo, ProgInfoIter, ProgInfoQueryOptions, ProgramInfo,
};
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, MapHandle, ObjectBuilder, ProgramType};
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::Path;

/// The one key of a map that has one.
const KEY: [u8; 4] = [0; 4];
/// The program's name, and those of its maps.
const PROGRAM: &str = "fw_windows";
const WINDOWS: &str = "windows";
const SETTINGS: &str = "settings";
const COUNTS: &str = "counts";

/// A program at a control group, which it leaves when this is dropped, unless it has a name.
#[derive(Debug)]
pub(super) struct Program {
    link: Link,
    number: u32,
}

impl Program {
    /// Puts the program at a control group.
    pub(super) fn attach(
        group: &ControlGroup,
        options: &WindowOptions,
    ) -> Result<Self, WindowsError> {
        libbpf_log::capture();
        let bytes = fairwind_bpf::WINDOWS_PROGRAM.to_vec();
        let attempt = || format!("load the program that remembers {} windows", options.entries);
        let builder = ObjectBuilder::default().open_memory(&bytes);
        let mut open = builder.map_err(|error| refused(attempt(), &error))?;
        for mut map in open.maps_mut().filter(|map| map.name() == WINDOWS) {
            map.set_max_entries(options.entries).map_err(|error| refused(attempt(), &error))?;
        }
        let object = open.load().map_err(|error| {
            if error.kind() == ErrorKind::PermissionDenied {
                return refused(attempt(), &error);
            }
            let is_taken = ProgramType::SockOps.is_supported().unwrap_or(true);
            if is_taken { refused(attempt(), &error) } else { WindowsError::NoSlot }
        })?;
        for map in object.maps().filter(|map| map.name() == SETTINGS) {
            let written = map.update(&KEY, &options.to_bytes(), MapFlags::ANY);
            written.map_err(|error| refused(attempt(), &error))?;
        }
        let attempt = || format!("put the program at the control group {}", group.path.display());
        let Some(program) = object.progs_mut().find(|program| program.name() == PROGRAM) else {
            return Err(WindowsError::NoSlot);
        };
        let link = program.attach_cgroup(group.folder.as_raw_fd());
        let link = link.map_err(|error| refused(attempt(), &error))?;
        let about = link.info().map_err(|error| refused(attempt(), &error))?;
        Ok(Self { link, number: about.prog_id })
    }

    /// Gives it a name, with which it outlives this process.
    pub(super) fn stay(mut self, name: &Path) -> Result<(), WindowsError> {
        self.link.pin(name).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => WindowsError::AlreadyStarted { path: name.to_owned() },
            _ => refused(format!("give the program the name {}", name.display()), &error),
        })
    }

    /// The one that has this name; `None` if nothing has, or its control group is gone.
    pub(super) fn named(name: &Path) -> Result<Option<Self>, WindowsError> {
        if !name.exists() {
            return Ok(None);
        }
        libbpf_log::capture();
        let attempt = || format!("look into {}", name.display());
        let link = Link::open(name).map_err(|error| refused(attempt(), &error))?;
        let about = link.info().map_err(|error| refused(attempt(), &error))?;
        let number = about.prog_id;
        Ok(group_of(&about).map(|_| Self { link, number }))
    }

    /// Takes its name, and the program from its group, now and not when the last who has it open is gone.
    ///
    /// The name goes first: whoever is killed in between leaves a program without one, which ends with its process.
    pub(super) fn leave(self, name: &Path) -> Result<(), WindowsError> {
        let attempt = || format!("remove {}", name.display());
        fs::remove_file(name).map_err(|error| WindowsError::Refused {
            attempt: attempt(),
            words: error.to_string(),
        })?;
        self.link.detach().map_err(|error| refused(attempt(), &error))
    }

    /// What it has written.
    pub(super) fn maps(&self) -> Result<Maps, WindowsError> {
        let attempt = || "read the windows that the kernel remembers".to_owned();
        let about = self.about().ok_or_else(|| WindowsError::Refused {
            attempt: attempt(),
            words: format!("there is no program {} any more", self.number),
        })?;
        let maps = about.map_ids.iter().map(|id| MapHandle::from_map_id(*id));
        let maps: Vec<MapHandle> =
            maps.collect::<Result<_, _>>().map_err(|error| refused(attempt(), &error))?;
        Ok(Maps { maps })
    }

    fn about(&self) -> Option<ProgramInfo> {
        let options = ProgInfoQueryOptions::default().include_map_ids(true);
        ProgInfoIter::with_query_opts(options).find(|program| program.id == self.number)
    }

    /// How often the kernel has run it, and for how many nanoseconds in all, since that is counted.
    pub(super) fn runs(&self) -> (u64, u64) {
        self.about().map_or((0, 0), |about| (about.run_cnt, about.run_time_ns))
    }
}

/// Numbers of the control groups where such a program is now, with and without a name.
pub(super) fn groups() -> Vec<u64> {
    let programs = ProgInfoIter::default().filter(|program| program.name == PROGRAM);
    let programs: Vec<u32> = programs.map(|program| program.id).collect();
    let links = LinkInfoIter::default().filter(|link| programs.contains(&link.prog_id));
    links.filter_map(|link| group_of(&link)).collect()
}

/// The number of the control group that a program is at; `None` if that is gone.
fn group_of(about: &LinkInfo) -> Option<u64> {
    match &about.info {
        LinkTypeInfo::Cgroup(group) => Some(group.cgroup_id).filter(|number| *number != 0),
        _ => None,
    }
}

fn refused(attempt: String, error: &libbpf_rs::Error) -> WindowsError {
    let words = libbpf_log::describe(error);
    if error.kind() == ErrorKind::PermissionDenied && !group::may_load() {
        return WindowsError::NotCapable { attempt, words };
    }
    WindowsError::Refused { attempt, words }
}

/// A program's maps.
#[derive(Debug)]
pub(super) struct Maps {
    maps: Vec<MapHandle>,
}

impl Maps {
    /// Each window with its peer. Peers may come and go meanwhile, and whoever asks for the next one after one that
    /// has gone begins anew: so nobody is taken twice, and there is an end.
    pub(super) fn windows(&self) -> Result<Vec<Entry>, WindowsError> {
        let map = self.find(WINDOWS)?;
        let most = usize::try_from(map.max_entries()).unwrap_or(usize::MAX).saturating_mul(2);
        let mut found = BTreeMap::new();
        for peer in map.keys().take(most) {
            let value = map.lookup(&peer, MapFlags::ANY);
            let value = value.map_err(|error| refused("read the windows".to_owned(), &error))?;
            if let (Ok(peer), Some(Ok(value))) = (peer.try_into(), value.map(TryInto::try_into)) {
                found.insert(peer, value);
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Writes a window, as the program would.
    pub(super) fn remember(&self, peer: &[u8], window: &[u8]) -> Result<(), WindowsError> {
        let written = self.find(WINDOWS)?.update(peer, window, MapFlags::ANY);
        written.map_err(|error| refused("write a window".to_owned(), &error))
    }

    /// Forgets a peer; that it is forgotten already is well.
    pub(super) fn forget(&self, peer: &[u8]) -> Result<(), WindowsError> {
        match self.find(WINDOWS)?.delete(peer) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(refused("forget a window".to_owned(), &error))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn options(&self) -> Result<WindowOptions, WindowsError> {
        let entries = self.find(WINDOWS)?.max_entries();
        Ok(WindowOptions::from_bytes(self.only(SETTINGS)?, entries))
    }

    pub(super) fn counts(&self) -> Result<WindowCounts, WindowsError> {
        Ok(WindowCounts::read(self.only(COUNTS)?))
    }

    /// The value of a map that has one.
    fn only<const BYTES: usize>(&self, name: &str) -> Result<[u8; BYTES], WindowsError> {
        let value = self.find(name)?.lookup(&KEY, MapFlags::ANY);
        let value = value.map_err(|error| refused(format!("read the map {name}"), &error))?;
        value.and_then(|value| value.try_into().ok()).ok_or_else(|| foreign(name))
    }

    fn find(&self, name: &str) -> Result<&MapHandle, WindowsError> {
        self.maps.iter().find(|map| map.name() == name).ok_or_else(|| foreign(name))
    }
}

fn foreign(map: &str) -> WindowsError {
    WindowsError::Refused {
        attempt: format!("read the map {map}"),
        words: "the program is of another version of fairwind: stop it with that one, or remove its name in \
                /sys/fs/bpf"
            .to_owned(),
    }
}
