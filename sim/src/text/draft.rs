//! The plan so far, and what the names in the lines that follow may mean.

use super::{defaults, suggest::did_you_mean};
use crate::plan::{Clients, Plan, THERE, Topic};

/// A plan in the making.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) plan: Plan,
    /// How many brokers there are, at most, at any time.
    brokers_max: u32,
    /// Whether a step may name the broker at which its moment comes.
    pub(super) knows_there: bool,
}

impl Draft {
    /// Nothing is declared yet; `brokers_max` as far as the file says.
    pub(super) fn new(brokers_max: u32) -> Self {
        Self { plan: defaults::blank(), brokers_max, knows_there: false }
    }

    /// Declares a topic.
    pub(super) fn add_topic(&mut self, topic: Topic) -> Result<(), String> {
        if self.plan.topics.iter().any(|it| it.name == topic.name) {
            return Err(format!("there is a topic `{}` already; choose another name", topic.name));
        }
        self.plan.topics.push(topic);
        Ok(())
    }

    /// Declares clients; none may be called like another.
    pub(super) fn add_clients(&mut self, clients: Clients) -> Result<(), String> {
        let mine = client_names(&clients);
        let taken = mine.iter().find(|name| *name == EXAMINER || self.has_client(name));
        if let Some(name) = taken {
            return Err(format!("there is a client `{name}` already; choose another name"));
        }
        self.plan.clients.push(clients);
        Ok(())
    }

    /// A broker's name.
    pub(super) fn broker(&self, name: &str) -> Result<String, String> {
        let ordinal = name.strip_prefix("kaas-").and_then(|it| it.parse::<u32>().ok());
        let is_known = ordinal.is_some_and(|it| it < self.brokers_max);
        if is_known && ordinal.is_some_and(|it| name == format!("kaas-{it}")) {
            return Ok(name.to_owned());
        }
        match (name, self.knows_there) {
            (THERE, true) => return Ok(name.to_owned()),
            (THERE, false) => {
                return Err(format!("`{THERE}` is where a moment came; write `when=`"));
            }
            _ => {}
        }
        let last = self.brokers_max.saturating_sub(1);
        Err(format!("there is no broker `{name}`; there are `kaas-0` to `kaas-{last}`"))
    }

    /// A topic's name.
    pub(super) fn topic(&self, name: &str) -> Result<String, String> {
        known("topic", name, self.plan.topics.iter().map(|it| it.name.as_str()))
    }

    /// The name of a group with members.
    pub(super) fn consumer_group(&self, name: &str) -> Result<String, String> {
        let groups = self.plan.clients.iter().filter_map(|it| match it {
            Clients::Group { name, .. } => Some(name.as_str()),
            Clients::Committer { .. }
            | Clients::Reader { .. }
            | Clients::OneShot { .. }
            | Clients::Admin { .. }
            | Clients::Rude { .. } => None,
        });
        known("group with members", name, groups)
    }

    /// The name of a group that somebody commits for all the time.
    pub(super) fn group(&self, name: &str) -> Result<String, String> {
        let groups = self.plan.clients.iter().filter_map(|it| match it {
            Clients::Group { name, .. } | Clients::Committer { name, .. } => Some(name.as_str()),
            Clients::Reader { .. }
            | Clients::OneShot { .. }
            | Clients::Admin { .. }
            | Clients::Rude { .. } => None,
        });
        known("group", name, groups)
    }

    /// The name of a member of a group.
    pub(super) fn member(&self, name: &str) -> Result<String, String> {
        let groups = self.plan.clients.iter().filter(|it| matches!(it, Clients::Group { .. }));
        let members: Vec<_> = groups.flat_map(client_names).collect();
        known("member", name, members.iter().map(String::as_str))
    }

    /// The name of a static member of a group.
    pub(super) fn static_member(&self, name: &str) -> Result<String, String> {
        let name = self.member(name)?;
        let (group, _) = name.rsplit_once('.').expect("a member is called `group.n`");
        let is_it = |it: &Clients| matches!(it, Clients::Group { name, is_static: true, .. } if name == group);
        if self.plan.clients.iter().any(is_it) {
            return Ok(name);
        }
        Err(format!("`{name}` has no instance id; give `group {group}` the option `static=yes`"))
    }

    /// The name of any client.
    pub(super) fn client(&self, name: &str) -> Result<String, String> {
        let clients: Vec<_> = self.plan.clients.iter().flat_map(client_names).collect();
        known("client", name, clients.iter().map(String::as_str))
    }

    fn has_client(&self, name: &str) -> bool {
        self.plan.clients.iter().flat_map(client_names).any(|it| it == name)
    }
}

/// The client that every run has besides those of its plan.
const EXAMINER: &str = "examiner";

/// What the clients of a declaration are called.
fn client_names(clients: &Clients) -> Vec<String> {
    match clients {
        Clients::Group { name, members, .. } => {
            (1..=*members).map(|member| format!("{name}.{member}")).collect()
        }
        Clients::Committer { name, .. } => vec![format!("{name}!")],
        Clients::Reader { name, .. } => vec![format!("{name}~")],
        Clients::OneShot { name, .. } => vec![format!("{name}?")],
        Clients::Admin { name, .. } => vec![name.clone()],
        Clients::Rude { group, manner, .. } => vec![format!("{group}.{}", manner.word())],
    }
}

/// How many names an error lists.
const LISTED_MAX: usize = 6;

fn known<'a>(
    what: &str,
    name: &str,
    all: impl Iterator<Item = &'a str> + Clone,
) -> Result<String, String> {
    if all.clone().any(|it| it == name) {
        return Ok(name.to_owned());
    }
    let cure = did_you_mean(name, all.clone(), || match all.collect::<Vec<_>>().as_slice() {
        [] => "declare it above".to_owned(),
        [some @ .., more] if some.len() < LISTED_MAX => {
            let some = some.iter().map(|it| format!("`{it}`, ")).collect::<String>();
            format!("there is {some}`{more}`")
        }
        all => {
            let (some, more) = all.split_at(LISTED_MAX);
            format!("there is `{}` and {} more", some.join("`, `"), more.len())
        }
    });
    Err(format!("there is no {what} `{name}`; {cure}"))
}

/// A name that the author of a scenario gives to something.
pub(super) fn new_name(name: &str) -> Result<String, String> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
    if name.chars().all(is_plain) {
        return Ok(name.to_owned());
    }
    Err(format!("`{name}` is no name here; write letters, digits, `.`, `_` and `-`"))
}
