//! A compiled program on its tracepoints, and the ring that its events come through.

use super::libbpf_log::{self, describe};
use super::{BpfError, RawEvent};
use libbpf_rs::{Link, MapCore, MapFlags, ObjectBuilder, RingBuffer, RingBufferBuilder};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The programs of this project.
#[derive(Debug, Clone, Copy)]
pub(super) enum Object {
    Endpoints,
    Packets,
}

impl Object {
    fn name(self) -> &'static str {
        match self {
            Self::Endpoints => "endpoints",
            Self::Packets => "packets",
        }
    }

    /// The compiled program, where the library can read it: aligned.
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Endpoints => {
                include_bytes!(concat!(env!("OUT_DIR"), "/endpoints.bpf.o")).to_vec()
            }
            Self::Packets => include_bytes!(concat!(env!("OUT_DIR"), "/packets.bpf.o")).to_vec(),
        }
    }
}

/// Events as they stand in the ring, each behind its length.
type Inbox = Arc<Mutex<Vec<u8>>>;

/// Programs on their tracepoints. They leave them when this is dropped.
#[derive(Debug)]
pub(super) struct Programs {
    name: &'static str,
    /// Before the object, so that nothing runs any more when that goes.
    _links: Vec<Link>,
    ring: RingBuffer<'static>,
    inbox: Inbox,
    object: libbpf_rs::Object,
}

impl Programs {
    /// Loads an object and puts those of its programs that are `wanted` onto their tracepoints.
    pub(super) fn attach(object: Object, wanted: &[&str]) -> Result<Self, BpfError> {
        let name = object.name();
        libbpf_log::capture();
        let refused = |attempt: &str, error: &libbpf_rs::Error| {
            BpfError::refused(format!("{attempt} the eBPF programs of {name}"), describe(error))
        };
        let bytes = object.bytes();
        let mut open = ObjectBuilder::default()
            .open_memory(&bytes)
            .map_err(|error| refused("open", &error))?;
        for mut program in open.progs_mut() {
            let is_wanted = wanted.iter().any(|name| program.name() == *name);
            program.set_autoload(is_wanted);
        }
        let object = open.load().map_err(|error| refused("load", &error))?;
        let inbox = Inbox::default();
        let ring = ring_of(&object, &inbox).map_err(|error| refused("read from", &error))?;
        let links = object
            .progs_mut()
            .filter(|program| wanted.iter().any(|name| program.name() == *name))
            .map(|program| program.attach())
            .collect::<Result<_, _>>()
            .map_err(|error| refused("attach", &error))?;
        Ok(Self { name, _links: links, ring, inbox, object })
    }

    /// Sets an entry of a map.
    pub(super) fn set(&self, map: &str, key: &[u8], value: &[u8]) -> Result<(), BpfError> {
        let found = self.object.maps().find(|one| one.name() == map);
        let found = found.ok_or_else(|| BpfError::refused(self.attempt(map), "no such map"))?;
        found
            .update(key, value, MapFlags::ANY)
            .map_err(|error| BpfError::refused(self.attempt(map), describe(&error)))
    }

    fn attempt(&self, map: &str) -> String {
        format!("set the map \"{map}\" of the eBPF programs of {}", self.name)
    }

    /// Waits until much has come, at most for `limit`.
    pub(super) fn wait(&self, limit: Duration) -> Result<(), BpfError> {
        self.unless_interrupted(self.ring.poll(limit))
    }

    /// Hands out what has come.
    pub(super) fn read(&mut self, mut each: impl FnMut(RawEvent<'_>)) -> Result<(), BpfError> {
        self.unless_interrupted(self.ring.consume())?;
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = inbox.as_slice();
        while let Some((length, behind)) = rest.split_first_chunk::<4>() {
            let length = usize::try_from(u32::from_ne_bytes(*length)).unwrap_or(behind.len());
            let (event, behind) = behind.split_at(length.min(behind.len()));
            each(RawEvent(event));
            rest = behind;
        }
        inbox.clear();
        Ok(())
    }

    fn unless_interrupted(&self, result: libbpf_rs::Result<()>) -> Result<(), BpfError> {
        match result {
            Err(error) if error.kind() != libbpf_rs::ErrorKind::Interrupted => {
                let attempt = format!("read events of the eBPF programs of {}", self.name);
                Err(BpfError::refused(attempt, describe(&error)))
            }
            _ => Ok(()),
        }
    }

    /// How many events found the ring full.
    pub(super) fn missed(&self) -> u64 {
        let map = self.object.maps().find(|map| map.name() == "missed");
        let value = map.and_then(|map| map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()?);
        value.map_or(0, |value| RawEvent(&value).u64(0))
    }
}

fn ring_of(object: &libbpf_rs::Object, inbox: &Inbox) -> libbpf_rs::Result<RingBuffer<'static>> {
    let inbox = Arc::clone(inbox);
    let keep = move |event: &[u8]| {
        let mut inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.extend(u32::try_from(event.len()).unwrap_or(0).to_ne_bytes());
        inbox.extend(event);
        0
    };
    let map = object.maps().find(|map| map.name() == "events");
    let map = map.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))?;
    let mut builder = RingBufferBuilder::new();
    builder.add(&map, keep)?;
    builder.build()
}
