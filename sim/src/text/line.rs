//! One line as words: a verb, names, options. Whoever reads it takes them one by one.

use std::collections::VecDeque;

use super::{suggest::did_you_mean, value::Value, verbs::Verb};

/// A line that is not empty.
#[derive(Debug)]
pub(super) struct Words<'a> {
    pub(super) verb: &'a str,
    names: VecDeque<&'a str>,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    /// The words of a line, `None` if there are none outside of a comment.
    pub(super) fn new(line: &'a str) -> Result<Option<Self>, String> {
        let mut words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
        let Some(verb) = words.next() else { return Ok(None) };
        if verb.contains('=') {
            return Err(format!("a line begins with a verb; write one in front of `{verb}`"));
        }
        let mut it = Self { verb, names: VecDeque::new(), options: Vec::new() };
        for word in words {
            it.push(word)?;
        }
        Ok(Some(it))
    }

    fn push(&mut self, word: &'a str) -> Result<(), String> {
        let Some((key, value)) = word.split_once('=') else {
            if let Some((key, _)) = self.options.first() {
                return Err(format!("names come before options; write `{word}` before `{key}=`"));
            }
            self.names.push_back(word);
            return Ok(());
        };
        if key.is_empty() || value.is_empty() {
            return Err(format!("`{word}` is half an option; write `key=value` without blanks"));
        }
        if self.option(key).is_some() {
            return Err(format!("`{key}` is given twice; keep one"));
        }
        self.options.push((key, value));
        Ok(())
    }

    /// The first name, if there is one.
    pub(super) fn first_name(&self) -> Option<&'a str> {
        self.names.front().copied()
    }

    /// The text of an option.
    pub(super) fn option(&self, key: &str) -> Option<&'a str> {
        self.options.iter().find(|(it, _)| *it == key).map(|(_, value)| *value)
    }
}

/// A line whose verb is known.
#[derive(Debug)]
pub(super) struct Line<'a> {
    words: Words<'a>,
    verb: &'static Verb,
}

impl<'a> Line<'a> {
    /// Checks that the verb has all of the options.
    pub(super) fn new(words: Words<'a>, verb: &'static Verb) -> Result<Self, String> {
        let keys = || verb.options().map(|(key, _)| key);
        match words.options.iter().find(|(key, _)| !keys().any(|it| it == *key)) {
            Some((key, _)) => {
                let cure = did_you_mean(key, keys(), || format!("write `{}`", verb.usage));
                Err(format!("`{}` has no option `{key}`; {cure}", verb.name))
            }
            None => Ok(Self { words, verb }),
        }
    }

    /// The next name.
    pub(super) fn name(&mut self) -> Result<&'a str, String> {
        let Verb { name, usage, .. } = self.verb;
        let next = self.words.names.pop_front();
        next.ok_or_else(|| format!("`{name}` needs a name; write `{usage}`"))
    }

    /// The next name, which must be a value.
    pub(super) fn value<T: Value>(&mut self) -> Result<T, String> {
        let text = self.name()?;
        T::read(text).ok_or_else(|| format!("`{text}` is not {}; {}", T::KIND, T::cure(text)))
    }

    /// All names that are left.
    pub(super) fn names(&mut self) -> impl Iterator<Item = &'a str> + use<'a> {
        std::mem::take(&mut self.words.names).into_iter()
    }

    /// The text of an option that may be left out.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        assert!(self.verb.options().any(|(it, _)| it == key), "the usage names every option");
        self.words.option(key)
    }

    /// The text of an option that must be there.
    pub(super) fn needed_text(&self, key: &str) -> Result<&'a str, String> {
        self.text(key).ok_or_else(|| {
            let mut options = self.verb.options();
            let (_, kind) = options.find(|(it, _)| *it == key).expect("the usage names it");
            format!("`{}` needs `{key}={kind}`", self.verb.name)
        })
    }

    /// An option that may be left out.
    pub(super) fn optional<T: Value>(&self, key: &str) -> Result<Option<T>, String> {
        self.text(key).map(|text| read(key, text)).transpose()
    }

    /// An option that must be there.
    pub(super) fn needed<T: Value>(&self, key: &str) -> Result<T, String> {
        read(key, self.needed_text(key)?)
    }

    /// An option that is as usual if it is left out.
    pub(super) fn or<T: Value>(&self, key: &str, usual: T) -> Result<T, String> {
        self.optional(key).map(|it| it.unwrap_or(usual))
    }

    /// Nothing may be left.
    pub(super) fn finish(mut self) -> Result<(), String> {
        match self.words.names.pop_front() {
            Some(name) => {
                let Verb { name: verb, usage, .. } = self.verb;
                Err(format!("`{verb}` has no use for `{name}`; write `{usage}`"))
            }
            None => Ok(()),
        }
    }
}

fn read<T: Value>(key: &str, text: &str) -> Result<T, String> {
    T::read(text).ok_or_else(|| format!("`{key}={text}` is not {}; {}", T::KIND, T::cure(text)))
}
