//! How set-ups went, per group: the table `setups`, and how often SYNs were repeated, `setup_retries`.
//!
//! Source: the questions of the group's `count3way`: how many connections came to be, after how many
//! SYNs, and how long it took.

use super::life::SetUp;
use super::record::Record;
use super::side::Side;
use fairwind_measure::{Table, TableBuilder, Times};
use fairwind_units::Span;

/// Repetitions above this are counted with it.
const MOST_RETRIES: usize = 15;

/// The set-ups of one group.
#[derive(Debug, Clone, Default)]
pub(crate) struct SetUps {
    by_outcome: [u64; SetUp::ALL.len()],
    aborted: u64,
    simultaneous: u64,
    syn_retries: u64,
    syn_ack_retries: u64,
    /// Attempts, and those of them that were completed, by the number of SYNs beyond the first.
    by_retries: [(u64, u64); MOST_RETRIES + 1],
    answer: Times,
    acknowledgment: Times,
    whole: Times,
}

fn record(times: &mut Times, span: Option<Span>) {
    if let Some(span) = span {
        times.record(span.as_nanos());
    }
}

fn seconds(nanos: u64) -> f64 {
    Span::from_nanos(nanos).as_secs_f64()
}

impl SetUps {
    /// Counts the set-up of one connection.
    pub(crate) fn count(&mut self, record: &Record) {
        self.by_outcome[place(record.set_up)] += 1;
        if record.set_up == SetUp::Unseen {
            return;
        }
        self.aborted += u64::from(record.set_up == SetUp::HalfOpen && record.ended_by.is_some());
        self.simultaneous += u64::from(record.is_simultaneous);
        let [syn, syn_ack] = record.retries;
        self.syn_retries += u64::from(syn);
        self.syn_ack_retries += u64::from(syn_ack);
        let retries = usize::try_from(record.retries[Side::Opener.index()]).unwrap_or(MOST_RETRIES);
        let by_retries = &mut self.by_retries[retries.min(MOST_RETRIES)];
        by_retries.0 += 1;
        by_retries.1 += u64::from(record.set_up == SetUp::Completed);
        self::record(&mut self.answer, record.times.answer);
        self::record(&mut self.acknowledgment, record.times.acknowledgment);
        self::record(&mut self.whole, record.times.whole);
    }

    fn outcome(&self, set_up: SetUp) -> u64 {
        self.by_outcome[place(set_up)]
    }

    fn attempts(&self) -> u64 {
        self.by_outcome.iter().sum::<u64>() - self.outcome(SetUp::Unseen)
    }
}

fn place(set_up: SetUp) -> usize {
    SetUp::ALL.iter().position(|each| *each == set_up).unwrap_or_default()
}

/// Counts the set-up of `record` in the group of its connection.
pub(crate) fn count_setup(setups: &mut [SetUps], record: &Record) {
    let group = usize::try_from(record.group).ok();
    if let Some(setups) = group.and_then(|group| setups.get_mut(group)) {
        setups.count(record);
    }
}

/// The name of some times, and where they are.
type Kind = (&'static str, fn(&SetUps) -> &Times);

/// The tables `setups` and `setup_retries`: rows for each group.
pub(crate) fn setup_tables(groups: &[String], setups: &[SetUps]) -> [Table; 2] {
    let rows: Vec<(&String, &SetUps)> = groups.iter().zip(setups).collect();
    let mut table = TableBuilder::new("setups", &rows)
        .with_text("group", |row, text| text.push_str(row.0))
        .with("attempts", |row| row.1.attempts())
        .with("completed", |row| row.1.outcome(SetUp::Completed))
        .with("unanswered", |row| row.1.outcome(SetUp::Unanswered))
        .with("refused", |row| row.1.outcome(SetUp::Refused))
        .with("half_open", |row| row.1.outcome(SetUp::HalfOpen))
        .with("aborted", |row| row.1.aborted)
        .with("unseen", |row| row.1.outcome(SetUp::Unseen))
        .with("simultaneous_opens", |row| row.1.simultaneous)
        .with("syn_retries", |row| row.1.syn_retries)
        .with("syn_ack_retries", |row| row.1.syn_ack_retries);
    let kinds: [Kind; 3] = [
        ("answer_time", |setups| &setups.answer),
        ("acknowledgment_time", |setups| &setups.acknowledgment),
        ("setup_time", |setups| &setups.whole),
    ];
    for (name, times) in kinds {
        table = table
            .with(&format!("{name}_min_s"), |row| times(row.1).minimum().map(seconds))
            .with(&format!("{name}_mean_s"), |row| times(row.1).mean().map(|mean| mean / 1e9))
            .with(&format!("{name}_p50_s"), |row| times(row.1).percentile(50.0).map(seconds))
            .with(&format!("{name}_p99_s"), |row| times(row.1).percentile(99.0).map(seconds))
            .with(&format!("{name}_max_s"), |row| times(row.1).maximum().map(seconds));
    }
    [table.build(), retries_table(&rows)]
}

struct RetriesRow<'a> {
    group: &'a String,
    retries: u64,
    attempts: u64,
    completed: u64,
}

fn retries_table(groups: &[(&String, &SetUps)]) -> Table {
    let mut rows = Vec::new();
    for &(group, setups) in groups {
        for (retries, &(attempts, completed)) in (0..).zip(&setups.by_retries) {
            if attempts > 0 {
                rows.push(RetriesRow { group, retries, attempts, completed });
            }
        }
    }
    TableBuilder::new("setup_retries", &rows)
        .with_text("group", |row, text| text.push_str(row.group))
        .with("syn_retries", |row| row.retries)
        .with("attempts", |row| row.attempts)
        .with("completed", |row| row.completed)
        .build()
}
