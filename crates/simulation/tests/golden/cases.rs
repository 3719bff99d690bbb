//! Cases: a base scenario, and what a case sets in it.
//!
//! A `[[case]]` has a `name`, a `base`, `set` (key paths and values), `drop` (key paths that are taken out), and `files`
//! (texts of files that the scenario names). With `[case.variants]`, a table of further settings for each label, or
//! `[case.each]`, a key path with the values that it takes in turn, it stands for several cases, `NAME/LABEL`. With
//! `[case.combine]`, lists of settings, and `count`, it stands for so many cases that each take one of every list, drawn by a
//! fixed generator.

use std::collections::BTreeMap;
use toml::{Table, Value};

/// One scenario.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) scenario: Table,
    /// Texts of the files that the scenario names.
    pub(crate) files: BTreeMap<String, String>,
}

/// All cases of the text `cases`, over the bases of the text `bases`.
pub(crate) fn read(bases: &str, cases: &str) -> Vec<Case> {
    let table = |text: &str| -> Table { text.parse().unwrap_or_else(|error| panic!("{error}")) };
    let (file_of_bases, file) = (table(bases), table(cases));
    let bases = file_of_bases["base"].as_table().expect("base scenarios");
    let mut cases = Vec::new();
    for case in file["case"].as_array().expect("cases") {
        let case = case.as_table().expect("a case is a table");
        let name = case["name"].as_str().expect("a case has a name");
        let known =
            ["name", "base", "set", "drop", "files", "variants", "each", "combine", "count"];
        let strange: Vec<_> = case.keys().filter(|key| !known.contains(&key.as_str())).collect();
        assert!(strange.is_empty(), "{name}: {strange:?}");
        let variants = variants(case);
        if variants.is_empty() {
            cases.push(one(bases, case, name.to_owned(), &Table::new()));
        }
        for (label, settings) in variants {
            cases.push(one(bases, case, format!("{name}/{label}"), &settings));
        }
    }
    cases
}

/// Labels and what is set for each.
fn variants(case: &Table) -> Vec<(String, Table)> {
    let mut found = Vec::new();
    if let Some(variants) = case.get("variants").and_then(Value::as_table) {
        for (label, settings) in variants {
            found.push((label.clone(), settings.as_table().expect("settings").clone()));
        }
    }
    if let Some(each) = case.get("each").and_then(Value::as_table) {
        for (key, values) in each {
            for value in values.as_array().expect("values") {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let label = text.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
                found.push((label, [(key.clone(), value.clone())].into_iter().collect()));
            }
        }
    }
    if let Some(lists) = case.get("combine").and_then(Value::as_table) {
        let count = case["count"].as_integer().expect("a count");
        found.extend((0..count).map(|number| (number.to_string(), combined(lists, number))));
    }
    found
}

/// One of each list; where two set the same key, the later one holds.
fn combined(lists: &Table, number: i64) -> Table {
    let mut state = u64::try_from(number).expect("a small number").wrapping_add(1);
    let mut settings = Table::new();
    let lists: BTreeMap<&String, &Value> = lists.iter().collect();
    for choices in lists.into_values() {
        let choices = choices.as_array().expect("a list");
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let place = (mixed ^ (mixed >> 31)) % choices.len() as u64;
        let choice = &choices[usize::try_from(place).expect("a short list")];
        settings.extend(choice.as_table().expect("settings").clone());
    }
    settings
}

fn one(bases: &Table, case: &Table, name: String, more: &Table) -> Case {
    let base = case["base"].as_str().expect("a base");
    let base = bases.get(base).unwrap_or_else(|| panic!("{name}: no base {base}"));
    let mut scenario = Value::Table(base.as_table().expect("a table").clone());
    for path in case.get("drop").and_then(Value::as_array).into_iter().flatten() {
        remove(&mut scenario, path.as_str().expect("a key path"));
    }
    for (path, value) in case.get("set").and_then(Value::as_table).into_iter().flatten().chain(more)
    {
        let steps: Vec<&str> = path.split('.').collect();
        assign(&mut scenario, &steps, value).unwrap_or_else(|| panic!("{name}: no {path}"));
    }
    let Value::Table(mut scenario) = scenario else { unreachable!("a scenario is a table") };
    scenario.insert("name".into(), Value::String(name.clone()));
    let files = case.get("files").and_then(Value::as_table).into_iter().flatten();
    let files = files.map(|(file, text)| (file.clone(), text.as_str().expect("a text").to_owned()));
    Case { name, scenario, files: files.collect() }
}

/// Puts a value where a key path leads; an element of a list is its name, its number or `*`.
fn assign(node: &mut Value, steps: &[&str], value: &Value) -> Option<()> {
    let [step, rest @ ..] = steps else {
        *node = value.clone();
        return Some(());
    };
    match node {
        Value::Table(table) => {
            let child = table.entry(*step).or_insert_with(|| Value::Table(Table::new()));
            assign(child, rest, value)
        }
        Value::Array(items) if *step == "*" => {
            items.iter_mut().try_for_each(|item| assign(item, rest, value))
        }
        Value::Array(items) => {
            if let Some(place) = position(items, step) {
                return assign(&mut items[place], rest, value);
            }
            let name = Value::String((*step).to_owned());
            let mut item = Value::Table([("name".to_owned(), name)].into_iter().collect());
            if rest.is_empty() {
                item.as_table_mut()?.extend(value.as_table()?.clone());
            } else {
                assign(&mut item, rest, value)?;
            }
            items.push(item);
            Some(())
        }
        _ => None,
    }
}

fn position(items: &[Value], step: &str) -> Option<usize> {
    let name = |item: &Value| item.get("name").and_then(Value::as_str) == Some(step);
    items.iter().position(name).or_else(|| step.parse().ok().filter(|place| *place < items.len()))
}

fn remove(node: &mut Value, path: &str) {
    let (parents, last) =
        path.rsplit_once('.').map_or(("", path), |(parents, last)| (parents, last));
    let mut node = node;
    for step in parents.split('.').filter(|step| !step.is_empty()) {
        node = match node {
            Value::Array(items) => {
                let place = position(items, step).unwrap_or_else(|| panic!("no {path}"));
                &mut items[place]
            }
            _ => node.get_mut(step).unwrap_or_else(|| panic!("no {path}")),
        };
    }
    if let Value::Array(items) = node {
        let place = position(items, last).unwrap_or_else(|| panic!("no {path}"));
        items.remove(place);
    } else {
        let removed = node.as_table_mut().and_then(|table| table.remove(last));
        assert!(removed.is_some(), "no {path}");
    }
}
