//! Algorithms in the kernel that tell of each call of their hooks.

use super::tape::{Call, HOOKS};
use fairwind_testbed::controls::ControlObject;
use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder, RingBufferBuilder};
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

/// One algorithm in the kernel, under a name of its own.
pub(crate) struct Recorder {
    pub(crate) control: ControlObject,
    /// Its functions are `fw_HTCP_init` and so on.
    stem: String,
    // Before the object, so that it goes first.
    _registration: Link,
    object: Object,
}

impl Recorder {
    /// Loads the repository's algorithm `name` under another name.
    pub(crate) fn new(name: &str, kernel_name: String) -> Self {
        let stem = name.trim_end_matches("-c").to_owned();
        let code = compiled(name, &stem, &kernel_name);
        let open = ObjectBuilder::default().open_memory(&code).unwrap();
        let mut object = open.load().unwrap();
        let table = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let registration = table.unwrap().attach_struct_ops().unwrap();
        let control = ControlObject { name: format!("recorded-{name}"), kernel_name, object: code };
        Self { control, stem, _registration: registration, object }
    }

    /// The hooks that it has.
    pub(crate) fn hooks(&self) -> Vec<&'static str> {
        let has = |hook: &&str| {
            let name = format!("fw_{}_{hook}", self.stem);
            self.object.progs().any(|program| program.name() == name.as_str())
        };
        HOOKS.into_iter().filter(has).collect()
    }

    /// What was called, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let calls = Rc::new(RefCell::new(Vec::new()));
        let all = Rc::clone(&calls);
        let map = self.object.maps().find(|map| map.name() == "calls").unwrap();
        let mut ring = RingBufferBuilder::new();
        ring.add(&map, move |record| {
            all.borrow_mut().push(Call::read(record));
            0
        })
        .unwrap();
        ring.build().unwrap().consume().unwrap();
        calls.take()
    }
}

/// The source as it is, but for the name in its table, with `recorder.h` before it.
fn compiled(name: &str, stem: &str, kernel_name: &str) -> Vec<u8> {
    let text = fairwind_congestion::source_of(name).unwrap();
    let known = format!("\"fw_{stem}\"");
    assert!(text.contains(&known), "{name} has its name in its table");
    let folder = tempfile::tempdir().unwrap();
    let (source, object) = (folder.path().join("control.c"), folder.path().join("control.o"));
    std::fs::write(&source, text.replace(&known, &format!("\"{kernel_name}\""))).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let status = Command::new(std::env::var_os("CLANG").unwrap_or_else(|| "clang".into()))
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wno-unused"])
        .args(["-Wno-int-conversion", &format!("-DSTEM=\"fw_{stem}_\""), "-I"])
        .arg(here.join("../../congestion/include"))
        .arg("-include")
        .arg(here.join("tests/kernel/traces/recorder.h"))
        .arg("-c")
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .status();
    assert!(status.unwrap().success(), "{name}");
    std::fs::read(&object).unwrap()
}
