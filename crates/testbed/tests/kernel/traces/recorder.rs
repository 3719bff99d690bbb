//! Congestion controls in the kernel that record each call of their hooks.

use super::tape::{Call, HOOKS};
use fairwind_kernel_settings::controls::ControlObject;
use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder, RingBufferBuilder};
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

/// One algorithm in the kernel, under a unique name.
pub(crate) struct Recorder {
    pub(crate) control: ControlObject,
    /// What its functions' names begin with: `fw_htcp` and so on.
    stem: String,
    // Before the object, so that it goes first.
    _registration: Link,
    object: Object,
}

impl Recorder {
    /// Loads an algorithm under another name than the one in its table, with which its functions' names begin.
    pub(crate) fn new(name: &str, stem: &str, text: &str, kernel_name: String) -> Self {
        let code = compiled(stem, text, &kernel_name);
        let open = ObjectBuilder::default().open_memory(&code).unwrap();
        let mut object = open.load().unwrap();
        let table = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let registration = table.unwrap().attach_struct_ops().unwrap();
        // Without what it was compiled to it is taken as it is in the kernel: nobody has noted what that is.
        let name = format!("recorded-{name}");
        let control = ControlObject { name, kernel_name, object: Vec::new() };
        Self { control, stem: stem.to_owned(), _registration: registration, object }
    }

    /// The hooks that it has.
    pub(crate) fn hooks(&self) -> Vec<&'static str> {
        let has = |hook: &&str| {
            let name = format!("{}_{hook}", self.stem);
            self.object.progs().any(|program| program.name() == name.as_str())
        };
        HOOKS.into_iter().filter(has).collect()
    }

    /// The calls, in order.
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
fn compiled(stem: &str, text: &str, kernel_name: &str) -> Vec<u8> {
    let known = format!("\"{stem}\"");
    assert!(text.contains(&known), "{stem} is the name in its table");
    let folder = tempfile::tempdir().unwrap();
    let (source, object) = (folder.path().join("control.c"), folder.path().join("control.o"));
    std::fs::write(&source, text.replace(&known, &format!("\"{kernel_name}\""))).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let status = Command::new(std::env::var_os("CLANG").unwrap_or_else(|| "clang".into()))
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wno-unused"])
        .args(["-Wno-int-conversion", &format!("-DSTEM=\"{stem}_\""), "-I"])
        .arg(here.join("../../congestion/include"))
        .arg("-include")
        .arg(here.join("tests/kernel/traces/recorder.h"))
        .arg("-c")
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .status();
    assert!(status.unwrap().success(), "{stem}");
    std::fs::read(&object).unwrap()
}
