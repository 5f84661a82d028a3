//! A bug to plant: a patch file with a header.
//!
//! ```text
//! bug      what it is
//! idea     where the idea comes from
//! breaks   the promises that should break, or `nothing` for a control
//! slow     why it takes long to find (optional)
//! records  why no seed finds it, but Kafka's cases or the scenarios do (optional)
//! missed   why it is not found at all (optional)
//! quick    why it stands for its part of the source in a quick proof (optional)
//!
//! diff --git a/src/…
//! ```
//!
//! A line that begins with a blank continues the one before. A bug that is known to be missed and is
//! found all the same is as wrong as the opposite: then the line must go.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::Trouble;

/// The words that a header may begin its lines with, those that it must have first.
const KEYS: [&str; 7] = ["bug", "idea", "breaks", "slow", "records", "missed", "quick"];
const REQUIRED: usize = 3;

/// What the seeds should come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Some fail.
    Found,
    /// None fails, but something is not as it is on record.
    OnRecord,
    /// Nothing notices it, though something should: a known weakness.
    Missed,
    /// None fails, and none should.
    Nothing,
}

/// A bug to plant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bug {
    /// Its file's name without `.patch`.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// The files that it changes, from the root of the source.
    pub files: Vec<PathBuf>,
    header: BTreeMap<&'static str, String>,
}

impl Bug {
    /// Reads a patch file.
    pub fn read(path: &Path) -> Result<Self, Trouble> {
        let text = fs::read_to_string(path).map_err(|error| {
            Trouble::Outside(format!("could not read {}: {error}", path.display()))
        })?;
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self::parse(id, path.to_owned(), &text)
            .map_err(|what| Trouble::Patch(format!("{}: {what}", path.display())))
    }

    /// All bugs of a directory, sorted.
    pub fn all(dir: &Path) -> Result<Vec<Self>, Trouble> {
        let trouble =
            |error| Trouble::Outside(format!("could not list {}: {error}", dir.display()));
        let mut paths = Vec::new();
        for entry in fs::read_dir(dir).map_err(trouble)? {
            paths.push(entry.map_err(trouble)?.path());
        }
        paths.retain(|it| it.extension() == Some(OsStr::new("patch")));
        paths.sort();
        paths.iter().map(|it| Self::read(it)).collect()
    }

    fn parse(id: String, path: PathBuf, text: &str) -> Result<Self, String> {
        let mut header: BTreeMap<&'static str, String> = BTreeMap::new();
        let mut last = None;
        for line in text.lines().take_while(|line| !line.trim().is_empty()) {
            if let (true, Some(last)) = (line.starts_with(' '), last) {
                let value = header.entry(last).or_default();
                *value = format!("{value} {}", line.trim());
                continue;
            }
            let (word, value) = line.split_once(' ').unwrap_or((line, ""));
            let key = KEYS.iter().find(|it| **it == word).ok_or_else(|| {
                format!("its header has {word:?}; the words are {}", KEYS.join(", "))
            })?;
            header.insert(key, value.trim().to_owned());
            last = Some(*key);
        }
        let missing = KEYS.iter().take(REQUIRED).find(|it| !header.contains_key(*it));
        if let Some(missing) = missing {
            return Err(format!("its header has no line `{missing}   …`"));
        }
        let files: Vec<_> = text.lines().filter_map(changed).map(PathBuf::from).collect();
        if files.is_empty() {
            return Err("it changes no file; make it with `git diff`".to_owned());
        }
        Ok(Self { id, path, files, header })
    }

    /// What the seeds should come to.
    pub fn expected(&self) -> Expected {
        if self.breaks() == ["nothing"] {
            Expected::Nothing
        } else if self.header.contains_key("records") {
            Expected::OnRecord
        } else if self.header.contains_key("missed") {
            Expected::Missed
        } else {
            Expected::Found
        }
    }

    /// The promises that should break.
    pub fn breaks(&self) -> Vec<&str> {
        self.header["breaks"].split(',').map(str::trim).collect()
    }

    /// A line of its header; empty if it is not there.
    pub fn says(&self, key: &str) -> &str {
        self.header.get(key).map_or("", String::as_str)
    }

    /// Whether it is in the quick proof.
    pub fn is_quick(&self) -> bool {
        self.header.contains_key("quick") || self.expected() == Expected::Nothing
    }
}

/// The file that a line of a patch says is changed or made.
fn changed(line: &str) -> Option<&str> {
    line.strip_prefix("+++ b/").map(|it| it.split('\t').next().unwrap_or(it))
}

#[cfg(test)]
mod tests {
    use super::{Bug, Expected};

    const DIFF: &str = "\ndiff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n";

    fn parse(header: &str) -> Result<Bug, String> {
        Bug::parse("it".to_owned(), "it.patch".into(), &format!("{header}{DIFF}"))
    }

    #[test]
    fn a_header_says_what_to_expect() {
        let bug = parse("bug      a long\n         story\nidea   x\nbreaks  one, two\nquick y\n")
            .unwrap();
        assert_eq!(bug.says("bug"), "a long story");
        assert_eq!((bug.breaks(), bug.expected()), (vec!["one", "two"], Expected::Found));
        assert_eq!((bug.is_quick(), bug.files), (true, vec!["src/a.rs".into()]));
        let control = parse("bug none\nidea x\nbreaks nothing\n").unwrap();
        assert_eq!((control.expected(), control.is_quick()), (Expected::Nothing, true));
        let known = parse("bug b\nidea x\nbreaks y\nmissed hard\n").unwrap();
        assert_eq!((known.expected(), known.is_quick()), (Expected::Missed, false));
        let recorded = parse("bug b\nidea x\nbreaks y\nrecords late\n").unwrap();
        assert_eq!(recorded.expected(), Expected::OnRecord);
    }

    #[test]
    fn a_header_must_be_whole() {
        let error = |header| parse(header).unwrap_err();
        assert_eq!(error("bug b\nbreaks y\n"), "its header has no line `idea   …`");
        assert!(
            error("bug b\nreason y\n").starts_with("its header has \"reason\"; the words are bug")
        );
        let error = Bug::parse("it".into(), "it".into(), "bug b\nidea i\nbreaks y\n").unwrap_err();
        assert!(error.starts_with("it changes no file"));
    }
}
