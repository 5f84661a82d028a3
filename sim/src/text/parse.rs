//! A file becomes a plan.

use std::collections::BTreeMap;

use super::{
    Scenario,
    draft::Draft,
    line::{Line, Words},
    suggest::did_you_mean,
    value::{Count, Nth, Value},
    verbs::{Read, Verb, verbs},
};
use crate::plan::{Step, When};

/// What is wrong, and in which line.
type Wrong = (usize, String);

/// Reads a whole file.
pub(super) fn scenario(text: &str) -> Result<Scenario, Wrong> {
    let claim = claim(text).map_err(|what| (1, what))?;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words = Words::new(line).map_err(|what| (number, what))?;
        lines.extend(words.map(|words| (number, words)));
    }
    let mut reader = Reader::new(&lines);
    reader.draft.plan.claim = claim;
    for (number, words) in lines {
        reader.line(number, words).map_err(|what| (number, what))?;
    }
    reader.need_brokers().map_err(|what| (text.lines().count(), what))?;
    Ok(Scenario { plan: reader.draft.plan, step_lines: reader.step_lines })
}

/// The comment block at the top, without the marks.
fn claim(text: &str) -> Result<Vec<String>, String> {
    let marked = text.lines().map_while(|line| line.strip_prefix('#'));
    let claim: Vec<_> =
        marked.map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()).collect();
    if claim.iter().all(String::is_empty) {
        return Err("a scenario begins with its claim; write `# What must hold.`".to_owned());
    }
    Ok(claim)
}

struct Reader {
    draft: Draft,
    /// The settings that were made, and where.
    settings: BTreeMap<&'static str, usize>,
    step_lines: Vec<usize>,
}

impl Reader {
    fn new(lines: &[(usize, Words<'_>)]) -> Self {
        // A step with a time can come before those above it, so a broker may be named wherever it
        // is in the file that it comes with.
        let counts = lines.iter().filter_map(|(_, words)| match words.verb {
            "brokers" => Count::read(words.first_name()?),
            "scale" => Count::read(words.option("to")?),
            _ => None,
        });
        let brokers_max = counts.map(|Count(it)| it).max().unwrap_or(0);
        Self { draft: Draft::new(brokers_max), settings: BTreeMap::new(), step_lines: Vec::new() }
    }

    fn line(&mut self, number: usize, words: Words<'_>) -> Result<(), String> {
        let verb = find(words.verb)?;
        let mut line = Line::new(words, verb)?;
        match verb.read {
            Read::Setting(read) => {
                self.declare(verb)?;
                if let Some(first) = self.settings.insert(verb.name, number) {
                    return Err(format!("`{}` is in line {first} already; keep one", verb.name));
                }
                read(&mut line, &mut self.draft)?;
            }
            Read::Declaration(read) => {
                self.declare(verb)?;
                read(&mut line, &mut self.draft)?;
            }
            Read::Step(read) => {
                self.need_brokers()?;
                let takes_time = verb.options().any(|(key, _)| key == "at");
                let (at, when) = match takes_time {
                    true => (line.optional("at")?, self.when(&line)?),
                    false => (None, None),
                };
                self.draft.knows_there = when.is_some();
                let action = read(&mut line, &self.draft)?;
                self.draft.plan.steps.push(Step { at, when, action });
                self.step_lines.push(number);
            }
        }
        self.need_one_release()?;
        line.finish()
    }

    /// What is pending would be gone when a broker of the former release writes the file.
    fn need_one_release(&self) -> Result<(), String> {
        let plan = &self.draft.plan;
        if plan.longest_transaction().is_some() && plan.knows_former() {
            let why = "the former release drops what waits for the end of a transaction";
            return Err(format!("{why}; leave out `release=former` or `transactions=`"));
        }
        Ok(())
    }

    fn when(&self, line: &Line<'_>) -> Result<Option<When>, String> {
        let group = line.text("of").map(|it| self.draft.group(it)).transpose()?;
        match (line.optional("when")?, group) {
            (Some(Nth { moment, nth }), group) => Ok(Some(When { moment, nth, group })),
            (None, None) => Ok(None),
            (None, Some(of)) => Err(format!("`of={of}` says whose moment; write `when=` as well")),
        }
    }

    fn need_brokers(&self) -> Result<(), String> {
        if self.settings.contains_key("brokers") {
            return Ok(());
        }
        Err("nobody has said how many brokers there are; write `brokers 3` first".to_owned())
    }

    fn declare(&self, verb: &Verb) -> Result<(), String> {
        match self.step_lines.first() {
            Some(step) => Err(format!("`{}` belongs above the first step, line {step}", verb.name)),
            None => Ok(()),
        }
    }
}

fn find(name: &str) -> Result<&'static Verb, String> {
    verbs().find(|verb| verb.name == name).ok_or_else(|| {
        let names = verbs().map(|verb| verb.name);
        let cure = did_you_mean(name, names, || "`cargo sim verbs` lists all".to_owned());
        format!("there is no verb `{name}`; {cure}")
    })
}
