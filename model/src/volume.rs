//! volume-confinement: a broker changes only the files of the id it acts for.
//!
//! The layout is `__consumer_offsets/<name>.json` for a group's offsets and
//! `__consumer_offsets/.claims/<name>/…` for the right to publish them; likewise below
//! `__transaction_state` for a transactional id, and below `__producer_ids`. An ordinary id is its own
//! name; any other has an escape that only has to be injective: one name never stands for two ids,
//! one id never for two names. What the escape looks like is not prescribed.
//!
//! Always: which name stands for which id is remembered for the whole history, removed files
//! included.

use crate::{event::Name, ledger::Ledger, promise::Promise};
use std::collections::BTreeMap;

const DIRECTORIES: [&str; 3] = ["__consumer_offsets", "__transaction_state", "__producer_ids"];
const CLAIMS: &str = ".claims";
/// The longest name of a file, in bytes, with and without its suffix counted.
const LONGEST: usize = 200;
const SUFFIX: &str = ".json";

/// Which name stands for which id, in each directory.
#[derive(Debug, Default)]
pub(crate) struct Volume {
    id_of: BTreeMap<(&'static str, Name), Name>,
    name_of: BTreeMap<(&'static str, Name), Name>,
}

/// What a path is by the layout.
enum Place<'a> {
    /// The directories that all ids share.
    Shared,
    /// The file of the id of that name, and its directory.
    File(&'static str, &'a str),
    /// Below the claims of the id of that name.
    Claims(&'static str, &'a str),
}

impl Volume {
    /// A broker changed a path.
    pub(crate) fn changed(&mut self, path: &Name, group: Option<&Name>, ledger: &mut Ledger) {
        ledger.check(Promise::VolumeConfinement);
        let (directory, name, plain) = match place(path) {
            Ok(Place::Shared) => return,
            Ok(Place::File(directory, name)) => (directory, name, true),
            Ok(Place::Claims(directory, name)) => (directory, name, false),
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
                let expected = expected(directory, group, plain);
                vec![
                    format!("what belongs to {group} was written to {path}"),
                    format!("an ordinary id is its own name: {expected}"),
                ]
            });
        }
        self.injective(directory, name, group, ledger);
    }

    /// One name, one id.
    fn injective(
        &mut self,
        directory: &'static str,
        name: &str,
        group: &Name,
        ledger: &mut Ledger,
    ) {
        let by_name = (directory, Name::from(name));
        match self.id_of.get(&by_name) {
            Some(known) if known == group => {}
            Some(known) => ledger.broke(Promise::VolumeConfinement, group, || {
                vec![
                    format!("what belongs to {group} was written under the name {name}"),
                    format!("that name already stands for {known}"),
                ]
            }),
            None => {
                self.id_of.insert(by_name, group.clone());
            }
        }
        match self.name_of.get(&(directory, group.clone())) {
            Some(known) if **known == *name => {}
            Some(known) => ledger.broke(Promise::VolumeConfinement, group, || {
                vec![
                    format!("what belongs to {group} was written under the name {name}"),
                    format!("before it was under the name {known}"),
                ]
            }),
            None => {
                self.name_of.insert((directory, group.clone()), name.into());
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
    let first = parts.next();
    let Some(directory) = DIRECTORIES.into_iter().find(|it| Some(*it) == first) else {
        return Err(format!("it lies outside {}", DIRECTORIES.join(", ")));
    };
    match (parts.next(), parts.next()) {
        (None | Some(CLAIMS), None) => Ok(Place::Shared),
        (Some(CLAIMS), Some(name)) => Ok(Place::Claims(directory, name)),
        (Some(file), None) if file.len() > SUFFIX.len() && file.ends_with(SUFFIX) => {
            Ok(Place::File(directory, &file[..file.len() - SUFFIX.len()]))
        }
        (_, _) => Err("it is neither the file of an id nor below .claims".to_owned()),
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

fn expected(directory: &str, group: &str, plain: bool) -> String {
    if plain {
        format!("{directory}/{group}{SUFFIX}")
    } else {
        format!("{directory}/{CLAIMS}/{group}")
    }
}
