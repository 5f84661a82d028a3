//! volume-confinement: a broker changes only the files of the group it acts for.
//!
//! The layout is `__consumer_offsets/<name>.json` for a group's offsets and
//! `__consumer_offsets/.claims/<name>/…` for the right to publish them. An ordinary id is its own
//! name; any other has an escape that only has to be injective: one name never stands for two ids,
//! one id never for two names. What the escape looks like is not prescribed.
//!
//! Always: which name stands for which id is remembered for the whole history, removed files
//! included.

use crate::{event::Name, ledger::Ledger, promise::Promise};
use std::collections::BTreeMap;

const DIRECTORY: &str = "__consumer_offsets";
const CLAIMS: &str = ".claims";
/// The longest name of a file, in bytes, with and without its suffix counted.
const LONGEST: usize = 200;
const SUFFIX: &str = ".json";

/// Which name stands for which group id.
#[derive(Debug, Default)]
pub(crate) struct Volume {
    group_of: BTreeMap<Name, Name>,
    name_of: BTreeMap<Name, Name>,
}

/// What a path is by the layout.
enum Place<'a> {
    /// The directories that all groups share.
    Shared,
    /// The offsets of the group of that name.
    Offsets(&'a str),
    /// Below the claims of the group of that name.
    Claims(&'a str),
}

impl Volume {
    /// A broker changed a path.
    pub(crate) fn changed(&mut self, path: &Name, group: Option<&Name>, ledger: &mut Ledger) {
        ledger.check(Promise::VolumeConfinement);
        let (name, plain) = match place(path) {
            Ok(Place::Shared) => return,
            Ok(Place::Offsets(name)) => (name, true),
            Ok(Place::Claims(name)) => (name, false),
            Err(why) => {
                let subject = group.unwrap_or(path);
                return ledger.broke(Promise::VolumeConfinement, subject, || {
                    let of = group.map_or(String::new(), |group| format!(" for group {group}"));
                    vec![format!("a broker changed {path}{of}"), why]
                });
            }
        };
        if name.len() > LONGEST {
            ledger.broke(Promise::VolumeConfinement, group.unwrap_or(path), || {
                let long = format!("its name has {} bytes, {LONGEST} are allowed", name.len());
                vec![format!("a broker changed {path}"), long]
            });
        }
        let Some(group) = group else { return };
        if ordinary(group) && name != &**group {
            ledger.broke(Promise::VolumeConfinement, group, || {
                vec![
                    format!("the offsets of {group} were written to {path}"),
                    format!("an ordinary id is its own name: {}", expected(group, plain)),
                ]
            });
        }
        self.injective(name, group, ledger);
    }

    /// One name, one group.
    fn injective(&mut self, name: &str, group: &Name, ledger: &mut Ledger) {
        match self.group_of.get(name) {
            Some(known) if known == group => {}
            Some(known) => ledger.broke(Promise::VolumeConfinement, group, || {
                vec![
                    format!("the offsets of {group} were written under the name {name}"),
                    format!("that name already stands for {known}"),
                ]
            }),
            None => {
                self.group_of.insert(name.into(), group.clone());
            }
        }
        match self.name_of.get(group) {
            Some(known) if **known == *name => {}
            Some(known) => ledger.broke(Promise::VolumeConfinement, group, || {
                vec![
                    format!("the offsets of {group} were written under the name {name}"),
                    format!("before they were under the name {known}"),
                ]
            }),
            None => {
                self.name_of.insert(group.clone(), name.into());
            }
        }
    }
}

/// Where the path lies, or a sentence that says why it lies nowhere.
fn place(path: &str) -> Result<Place<'_>, String> {
    let mut parts = path.split('/');
    if let Some(odd) = path.split('/').find(|part| matches!(*part, "" | "." | "..")) {
        return Err(match odd {
            "" => "it is not a relative path of non-empty parts".to_owned(),
            odd => format!("it has a part {odd}"),
        });
    }
    if parts.next() != Some(DIRECTORY) {
        return Err(format!("it lies outside {DIRECTORY}"));
    }
    match (parts.next(), parts.next()) {
        (None | Some(CLAIMS), None) => Ok(Place::Shared),
        (Some(CLAIMS), Some(name)) => Ok(Place::Claims(name)),
        (Some(file), None) if file.len() > SUFFIX.len() && file.ends_with(SUFFIX) => {
            Ok(Place::Offsets(&file[..file.len() - SUFFIX.len()]))
        }
        (_, _) => Err("it is neither an offsets file nor below .claims".to_owned()),
    }
}

/// Whether the id must be its own name, however the suffix is counted.
fn ordinary(group: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !group.is_empty()
        && !group.starts_with('.')
        && group.len() + SUFFIX.len() <= LONGEST
        && group.bytes().all(fits)
}

fn expected(group: &str, plain: bool) -> String {
    if plain {
        format!("{DIRECTORY}/{group}{SUFFIX}")
    } else {
        format!("{DIRECTORY}/{CLAIMS}/{group}")
    }
}
