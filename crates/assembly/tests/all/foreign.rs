//! Experiments without a scenario must keep the rules of scenarios.

use super::parcel::Parcel;
use fairwind_assembly::Assembly;
use fairwind_scenario::{Document, Experiment};
use serde_json::{Value, json};

/// A resolved experiment, as JSON.
fn resolved() -> Value {
    let text = "name = \"one stream\"\nduration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"20 ms\"\n\
         queue = { discipline = \"htb\", default = \"rest\", classes = [\n\
         { name = \"all\", rate = \"1 Mbit/s\" },\n\
         { name = \"thin\", parent = \"all\", rate = \"300 kbit/s\", ceil = \"1 Mbit/s\", filters = [{ group = \"thin\" }] },\n\
         { name = \"rest\", parent = \"all\", rate = \"700 kbit/s\", child = \"fq_codel\" }] }\n\
         [[flows]]\nname = \"thin\"\n\
         workload = { kind = \"replay\", writes = [{ at = \"0 s\", size = \"10 B\" }, { at = \"1 ms\", size = \"10 B\" }] }\n";
    let document = Document::parse("foreign.toml", text).expect("this is TOML");
    let point = &document.grid().expect("there is one point")[0];
    let experiment = document.experiment(point).expect("the scenario keeps all rules");
    serde_json::to_value(experiment).expect("it is JSON")
}

/// What is said of the experiment with `value` at `pointer`; `None` where it is built.
fn refusal(pointer: &str, value: Value) -> Option<String> {
    let mut resolved = resolved();
    let (place, key) = pointer.rsplit_once('/').expect("a pointer has a key");
    match resolved.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) {
        Value::Array(items) => items[key.parse::<usize>().expect("a number")] = value,
        table => table[key] = value,
    }
    let experiment: Experiment = serde_json::from_value(resolved).expect("it has the form");
    Assembly::<Parcel>::new(&experiment, 1, |_| true).err().map(|error| error.to_string())
}

#[test]
fn resolved_network_can_be_built() {
    assert_eq!(refusal("/name", json!("another name")), None);
}

#[test]
fn contradictory_queues_are_refused_by_their_keys() {
    let class = |number: usize, key: &str| format!("/network/links/0/queue/classes/{number}/{key}");
    for (pointer, value, expected) in [
        (
            class(1, "ceil"),
            json!("1 kbit/s"),
            "classes[1].ceil: the ceil 1 kbit/s is below the rate",
        ),
        (class(1, "parent"), json!(5), "classes[1].parent: parents must precede"),
        (class(2, "quantum_bytes"), json!(0), "classes[2].quantum: a class must"),
        (class(2, "child"), json!(null), "classes[2].child: a class without classes below"),
        (class(2, "child/limit_packets"), json!(0), "classes[2].child.limit: a queue must hold"),
        (class(2, "child/flows"), json!(0), "classes[2].child.flows: it must be between 1 and"),
        (
            "/network/links/0/queue/default_class".into(),
            json!(0),
            "default: the default class has classes below it",
        ),
        ("/network/links/0/queue/default_class".into(), json!(3), "default: no such class"),
        (
            class(1, "filters/0/group"),
            json!("thick"),
            "classes[1].filters[0].group matches the group \"thick\", which does not exist",
        ),
    ] {
        let found = refusal(&pointer, value).unwrap_or_else(|| panic!("{pointer} is accepted"));
        assert!(found.contains(expected), "{pointer}: expected {expected}, found {found}");
    }
}

#[test]
fn missing_parent_class_is_refused() {
    let found = refusal("/network/links/0/queue/classes/0/parent", json!(9));
    let found = found.expect("it is refused");
    assert!(found.contains("classes[0].parent: parents must precede"), "{found}");
}

#[test]
fn empty_groups_and_writes_are_refused() {
    for (pointer, value, expected) in [
        ("/flows/0/count", json!(0), "group \"thin\" has no flows"),
        ("/flows/0/workload/writes/1/size", json!("0 B"), "write number 2 is empty"),
        ("/flows/0/workload/writes/0/at", json!("2 ms"), "write number 2 is empty, or earlier"),
    ] {
        let found = refusal(pointer, value).unwrap_or_else(|| panic!("{pointer} is accepted"));
        assert!(found.contains(expected), "{pointer}: expected {expected}, found {found}");
    }
}
