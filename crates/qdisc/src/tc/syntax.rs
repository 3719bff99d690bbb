//! The two forms of a text: a chain, which is one line in which `/` leads to what is held, and commands as one would type
//! them.

use super::disciplines;
use super::draft::{
    Body, ClassDraft, DisciplineDraft, Draft, FilterDraft, Handle, read_flower, read_handle,
    read_matches,
};
use super::words::{Place, TcError, Word, Words, split};
use fairwind_units::BitRate;

/// Reads a chain.
pub(super) fn read_chain(text: &str, bandwidth: BitRate) -> Result<Draft, TcError> {
    let lines: Vec<&str> = text.lines().collect();
    let words: Vec<Word<'_>> =
        (1..).zip(lines).flat_map(|(line, text)| split(text, line)).collect();
    let mut chain = Chain { draft: Draft::default(), open: Vec::new(), bandwidth };
    let mut before = Place { line: 1, column: 1 };
    let mut read = 0;
    for part in words.split(|word| word.text == "/") {
        if part.is_empty() {
            return Err(before.error("a queue discipline or a class is missing here"));
        }
        chain.part(&mut Words::new(part, before))?;
        read += part.len() + 1;
        before = words.get(read - 1).map_or(before, |slash| slash.place);
    }
    Ok(chain.draft)
}

/// A place for a discipline.
struct Open {
    /// The class, in the sense of `tc`.
    handle: Handle,
    /// How many disciplines may still come here, one after the other: the bands of a prio.
    rooms: u32,
}

struct Chain {
    draft: Draft,
    /// The deepest one last.
    open: Vec<Open>,
    bandwidth: BitRate,
}

impl Chain {
    fn part(&mut self, words: &mut Words<'_>) -> Result<(), TcError> {
        if words.take("class") {
            return self.class(words);
        }
        if words.take("filter") {
            return self.filter(words);
        }
        self.discipline(words)
    }

    fn discipline(&mut self, words: &mut Words<'_>) -> Result<(), TcError> {
        let kind = disciplines::kind(words)?;
        let place = words.last;
        let parent = self.take_room(place, kind)?;
        let (body, class) = disciplines::body(kind, words, self.bandwidth)?;
        let major = self.draft.next_major();
        let first = Handle { major, minor: 1 };
        let mut body = body;
        if let Some(class) = class {
            match &mut body {
                Body::Htb(htb) => htb.default = Some((1, place)),
                Body::Hfsc { default } => *default = Some((1, place)),
                _ => {}
            }
            self.draft.classes.push(ClassDraft { handle: first, parent: None, body: class, place });
            self.open.push(Open { handle: first, rooms: 1 });
        }
        match &body {
            Body::Prio { bands, .. } => {
                let rooms = u32::try_from(*bands).unwrap_or(u32::MAX);
                self.open.push(Open { handle: first, rooms });
            }
            Body::Tbf(_) | Body::Classless(crate::Qdisc::Red(_)) => {
                self.open.push(Open { handle: first, rooms: 1 });
            }
            _ => {}
        }
        self.draft.disciplines.push(DisciplineDraft { major, parent, body, place });
        Ok(())
    }

    /// The deepest place that is open; `None` at the root.
    fn take_room(&mut self, place: Place, kind: &str) -> Result<Option<Handle>, TcError> {
        while let Some(open) = self.open.last_mut() {
            if open.rooms == 0 {
                self.open.pop();
                continue;
            }
            let handle = open.handle;
            open.rooms -= 1;
            open.handle.minor += 1;
            return Ok(Some(handle));
        }
        if self.draft.disciplines.is_empty() {
            return Ok(None);
        }
        let full = "nothing before it has room for another queue";
        Err(place.error(format!("{kind} does not fit here: {full}")))
    }

    /// The innermost discipline that has own classes.
    fn classful(&self) -> Option<(u32, &'static str)> {
        self.draft
            .disciplines
            .iter()
            .rev()
            .find_map(|discipline| Some((discipline.major, discipline.body.classful()?)))
    }

    fn class(&mut self, words: &mut Words<'_>) -> Result<(), TcError> {
        let begin = words.last;
        let Some((innermost, _)) = self.classful() else {
            return Err(begin.error("a class belongs to an htb, drr or hfsc, but none precedes it"));
        };
        let handle = read_handle(words, Some(innermost))?;
        let place = words.last;
        let kind = self.kind_of(handle, place)?;
        let parent = if words.take("parent") {
            Some(read_handle(words, Some(handle.major))?).filter(|parent| parent.minor != 0)
        } else {
            None
        };
        if words.peek() == Some(kind) {
            words.next();
        }
        let (mut options, conditions) = words.split_at("match");
        let body = disciplines::class_body(kind, &mut options)?;
        self.draft.classes.push(ClassDraft { handle, parent, body, place });
        if let Some(mut conditions) = conditions {
            let filter = read_matches(&mut conditions)?;
            if let Some(word) = conditions.next() {
                return Err(conditions.wrong(format!("\"{word}\" is not expected after a match")));
            }
            self.draft.filters.push(FilterDraft { target: handle, filter, priority: 0, place });
        }
        self.open.retain(|open| open.handle.major < handle.major);
        self.open.push(Open { handle, rooms: 1 });
        Ok(())
    }

    fn kind_of(&self, handle: Handle, place: Place) -> Result<&'static str, TcError> {
        let of = |discipline: &&DisciplineDraft| discipline.major == handle.major;
        let discipline = self.draft.disciplines.iter().find(of);
        discipline.and_then(|discipline| discipline.body.classful()).ok_or_else(|| {
            place.error(format!("no htb, drr or hfsc has the number {:x}:", handle.major))
        })
    }

    fn filter(&mut self, words: &mut Words<'_>) -> Result<(), TcError> {
        let place = words.last;
        let filter = read_matches(words)?;
        if !(words.take("flowid") || words.take("classid")) {
            return Err(
                words.wrong("after its matches a filter needs flowid and a class: flowid 1:10")
            );
        }
        let major = self.draft.disciplines.first().map(|discipline| discipline.major);
        let target = read_handle(words, major)?;
        self.draft.filters.push(FilterDraft { target, filter, priority: 0, place });
        Ok(())
    }
}

/// Whether a text consists of commands: the first that is no remark has an object and a verb.
pub(super) fn is_script(text: &str) -> bool {
    let code = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut words = code.flat_map(str::split_whitespace);
    let object = words.find(|word| *word != "tc" && *word != "sudo");
    object.is_some_and(|word| ["qdisc", "class", "filter"].contains(&word))
        && words.next().is_some_and(|verb| VERBS.contains(&verb) || REMOVAL.contains(&verb))
}

const VERBS: [&str; 3] = ["add", "replace", "change"];

/// What removes; before a tree is built there is nothing to be removed.
const REMOVAL: [&str; 2] = ["del", "delete"];

/// The words of each command. Commands stand one per line, or are separated by `;`; a line that ends with `\` goes on in the
/// next one. What follows a `#` is a remark; where a shell would send output (`2>/dev/null`) and what it should do when a
/// command fails (`|| true`) means nothing here.
pub(super) fn split_commands(text: &str) -> Vec<Vec<Word<'_>>> {
    let mut commands = Vec::new();
    let mut words = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default().trim_end();
        let (text, goes_on) = text.strip_suffix('\\').map_or((text, false), |text| (text, true));
        let mut column = 1;
        for (index, command) in text.split(';').enumerate() {
            if index > 0 {
                commands.push(std::mem::take(&mut words));
            }
            let mut more = split(command, line);
            for word in &mut more {
                word.place.column += column - 1;
            }
            column += command.chars().count() + 1;
            words.extend(more);
        }
        if !goes_on {
            commands.push(std::mem::take(&mut words));
        }
    }
    commands.push(words);
    commands.into_iter().map(without_shell).filter(|words| !words.is_empty()).collect()
}

/// A command without what is the shell's.
fn without_shell(words: Vec<Word<'_>>) -> Vec<Word<'_>> {
    let is_told = |word: &Word<'_>| word.text != "||" && word.text != "&&";
    let is_output = |word: &Word<'_>| word.text.contains('>');
    words.into_iter().take_while(is_told).filter(|word| !is_output(word)).collect()
}

/// Reads commands.
pub(super) fn read_commands(text: &str, bandwidth: BitRate) -> Result<Draft, TcError> {
    let mut draft = Draft::default();
    for words in split_commands(text) {
        let Some(first) = words.first() else { continue };
        let place = Place { line: first.place.line, column: 1 };
        read_command(&mut draft, &mut Words::new(&words, place), bandwidth)?;
    }
    Ok(draft)
}

fn read_command(
    draft: &mut Draft,
    words: &mut Words<'_>,
    bandwidth: BitRate,
) -> Result<(), TcError> {
    words.take("sudo");
    words.take("tc");
    let object = words.value("qdisc, class or filter")?;
    let object_place = words.last;
    let verb = words.value("add")?;
    if REMOVAL.contains(&verb) && draft.disciplines.is_empty() {
        while words.next().is_some() {}
        return Ok(());
    }
    if !VERBS.contains(&verb) {
        return Err(
            words.wrong(format!("\"{verb}\" builds nothing; known are {}", VERBS.join(", ")))
        );
    }
    if words.take("dev") {
        words.value("the name of a device")?;
    }
    match object {
        "qdisc" => read_discipline(draft, words, bandwidth),
        "class" => read_class(draft, words),
        "filter" => read_filter(draft, words),
        _ => {
            let known = "known are qdisc, class, filter";
            Err(object_place.error(format!("tc has no \"{object}\" here; {known}")))
        }
    }
}

fn read_discipline(
    draft: &mut Draft,
    words: &mut Words<'_>,
    bandwidth: BitRate,
) -> Result<(), TcError> {
    let mut parent = None;
    let mut is_placed = false;
    let mut major = None;
    loop {
        if words.take("root") {
            is_placed = true;
        } else if words.take("parent") {
            parent = Some(read_handle(words, None)?);
            is_placed = true;
        } else if words.take("handle") {
            major = Some(read_handle(words, None)?.major);
        } else if words.take("dev") {
            words.value("the name of a device")?;
        } else {
            break;
        }
    }
    let kind = disciplines::kind(words)?;
    let place = words.last;
    if !is_placed {
        return Err(place.error("root, or parent and a class, must precede the discipline"));
    }
    let (body, class) = disciplines::body(kind, words, bandwidth)?;
    if class.is_some() {
        return Err(place.error("in commands, set rates and curves in a class: tc class add"));
    }
    let major = major.unwrap_or_else(|| draft.next_major().max(0x8001));
    if draft.disciplines.iter().any(|other| other.major == major) {
        return Err(place.error(format!("another discipline has the handle {major:x}: already")));
    }
    draft.disciplines.push(DisciplineDraft { major, parent, body, place });
    Ok(())
}

fn read_class(draft: &mut Draft, words: &mut Words<'_>) -> Result<(), TcError> {
    let begin = words.last;
    let (mut parent, mut number) = (None, None);
    loop {
        if words.take("parent") {
            parent = Some(read_handle(words, None)?);
        } else if words.take("classid") {
            number = Some((read_handle(words, None)?, words.last));
        } else if words.take("dev") {
            words.value("the name of a device")?;
        } else {
            break;
        }
    }
    let (Some(parent), Some((number, place))) = (parent, number) else {
        return Err(begin.error("a class needs a parent and a classid: parent 1: classid 1:10"));
    };
    if parent.major != number.major {
        return Err(place.error(format!("a class below {parent} begins with {:x}:", parent.major)));
    }
    let kind = words.value("htb, drr or hfsc")?;
    let kind = match kind {
        "htb" => "htb",
        "drr" => "drr",
        "hfsc" => "hfsc",
        _ => {
            let rule = format!("\"{kind}\" has no classes; known are htb, drr, hfsc");
            return Err(words.wrong(rule));
        }
    };
    let body = disciplines::class_body(kind, words)?;
    let parent = Some(parent).filter(|parent| parent.minor != 0);
    draft.classes.push(ClassDraft { handle: number, parent, body, place });
    Ok(())
}

fn read_filter(draft: &mut Draft, words: &mut Words<'_>) -> Result<(), TcError> {
    let place = words.last;
    let mut priority = 0;
    loop {
        if words.take("parent") {
            read_handle(words, None)?;
        } else if words.take("protocol") {
            words.value("a protocol")?;
        } else if words.take("prio") || words.take("pref") {
            priority = words.count()?;
        } else if words.take("dev") {
            words.value("the name of a device")?;
        } else if !words.take("root") {
            break;
        }
    }
    let filter = if words.take("flower") {
        read_flower(words)?
    } else {
        let _ = words.take("u32") || words.take("matchall") || words.take("basic");
        read_matches(words)?
    };
    if !(words.take("flowid") || words.take("classid")) {
        let what = words.next().unwrap_or_default();
        return Err(
            words.wrong(format!("\"{what}\": after its matches a filter needs flowid 1:10"))
        );
    }
    let target = read_handle(words, None)?;
    draft.filters.push(FilterDraft { target, filter, priority, place });
    Ok(())
}
