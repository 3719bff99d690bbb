//! The texts of a column: one block of characters, and where each text ends.
//!
//! Tables of captures have a row for each connection, and most of their texts are a word or an address. As
//! strings of their own they would each be a piece of memory to get and to give back.

use std::ops::Index;

/// Texts in their order.
///
/// ```
/// use fairwind_measure::Texts;
///
/// let texts: Texts = ["fast", "", "slow"].into_iter().collect();
/// assert_eq!((texts.len(), texts.get(2), texts.get(3)), (3, Some("slow"), None));
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct TextColumn {
    characters: String,
    ends: Vec<usize>,
}

impl TextColumn {
    /// No texts, with room for the ends of `texts`.
    pub(crate) fn with_room(texts: usize) -> Self {
        Self { characters: String::new(), ends: Vec::with_capacity(texts) }
    }

    /// Number of texts.
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text in `row`.
    pub fn get(&self, row: usize) -> Option<&str> {
        let end = *self.ends.get(row)?;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.characters.get(start..end)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|row| self.get(row))
    }

    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        self.push_with(|characters| characters.push_str(text));
    }

    /// Adds the text that `write` appends to the characters of those before.
    pub(crate) fn push_with(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.characters);
        self.ends.push(self.characters.len());
    }

    /// Adds others behind them.
    pub fn append(&mut self, others: &Self) {
        let before = self.characters.len();
        self.characters.push_str(&others.characters);
        self.ends.extend(others.ends.iter().map(|end| before + end));
    }
}

impl<Text: AsRef<str>> FromIterator<Text> for TextColumn {
    fn from_iter<Source: IntoIterator<Item = Text>>(texts: Source) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.push(text.as_ref()));
        all
    }
}

impl Index<usize> for TextColumn {
    type Output = str;

    fn index(&self, row: usize) -> &str {
        self.get(row).expect("the row is one of the column's")
    }
}

impl std::fmt::Debug for TextColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_what_they_were_alone_and_behind_others() {
        let words = ["a", "", "größer", "c"];
        let mut texts: TextColumn = words.into_iter().collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), words);
        let others: TextColumn = ["d".to_owned(), String::new()].into_iter().collect();
        texts.append(&others);
        texts.append(&TextColumn::default());
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["a", "", "größer", "c", "d", ""]);
        assert_eq!((texts.get(6), &texts[4]), (None, "d"));
        assert_eq!(format!("{texts:?}"), r#"["a", "", "größer", "c", "d", ""]"#);
    }
}
