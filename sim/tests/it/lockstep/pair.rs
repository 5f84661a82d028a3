//! Both groups, and what of the model's outcomes is left after a step.

use std::collections::{BTreeMap, BTreeSet};

use model::group::{Answer, Ask, Group, Millis, Outcome, Protocol, Settings, State, Ticket};

use super::{
    Coverage,
    plan::{KINDS, Op, REBALANCES, SESSIONS, Who, protocols},
    production::Production,
};

/// Both groups.
pub(crate) struct Pair {
    production: Production,
    /// What the model may be: more than one while Kafka's choices can't be told from outside.
    beliefs: Vec<Group>,
    now: Millis,
    tickets: Ticket,
    /// Requests that are withheld and whose connection is there.
    waiting: BTreeSet<Ticket>,
    /// All ids that were ever given out, in order, with what their owners said last.
    known: Vec<String>,
    said: BTreeMap<String, Said>,
}

/// What a member said when it joined.
#[derive(Clone, Debug)]
struct Said {
    instance: Option<String>,
    protocols: Vec<Protocol>,
}

/// What can be seen of a group.
#[derive(Debug, PartialEq, Eq)]
struct Sight {
    state: String,
    generation: i32,
    members: BTreeSet<String>,
    leader: Option<String>,
    pending: usize,
    parked: usize,
    kind: Option<String>,
    protocol: Option<String>,
}

impl Pair {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            production: Production::new(&settings),
            beliefs: vec![Group::new(settings, 0)],
            now: 0,
            tickets: 0,
            waiting: BTreeSet::new(),
            known: Vec::new(),
            said: BTreeMap::new(),
        }
    }

    /// Does an operation with both; says how they differ.
    pub(crate) fn step(&mut self, op: &Op, coverage: &mut Coverage) -> Result<(), String> {
        let before = self.model().state();
        let (observed, outcomes, ticket) = if let Op::Advance(by) = op {
            self.now += by;
            let observed = self.production.wait_until(self.now)?;
            let outcomes = self.beliefs.iter().flat_map(|it| it.wait_until(self.now)).collect();
            (observed, outcomes, None)
        } else {
            let Some(ask) = self.ask_of(op) else { return Ok(()) };
            self.tickets += 1;
            let ticket = self.tickets;
            let fresh = format!("new-{ticket}");
            let observed = self.production.ask(ticket, &ask, &fresh)?;
            let outcomes: Vec<_> =
                self.beliefs.iter().flat_map(|it| it.ask(ticket, &ask, &fresh)).collect();
            self.remember(&ask, ticket, &fresh, &outcomes);
            (observed, outcomes, Some(ticket))
        };
        self.waiting.retain(|ticket| !observed.contains_key(ticket));
        let left = self.agreeing(&observed, outcomes)?;
        let result = result(ticket, &observed, left[0].group.state());
        coverage.count((format!("{before:?}"), op.label(), result), &left);
        let groups: BTreeSet<_> = left.into_iter().map(|it| it.group).collect();
        self.beliefs = groups.into_iter().collect();
        Ok(())
    }

    /// What all beliefs agree on.
    fn model(&self) -> &Group {
        self.beliefs.first().expect("a step that leaves nothing fails")
    }

    /// Notes who waits, and what the owner of an id said.
    fn remember(&mut self, ask: &Ask, ticket: Ticket, fresh: &str, outcomes: &[Outcome]) {
        match ask {
            Ask::Abandon { parked } => {
                self.waiting.remove(parked);
            }
            Ask::Join { id, instance, protocols, .. } => {
                self.waiting.insert(ticket);
                let said = Said { instance: instance.clone(), protocols: protocols.clone() };
                let name = if id.is_empty() { fresh } else { id };
                let is_given = |it: &Outcome| {
                    it.group.members().contains(name) || it.group.pending().contains(name)
                };
                if outcomes.iter().any(is_given) {
                    self.said.insert(name.to_owned(), said);
                    if id.is_empty() {
                        self.known.push(name.to_owned());
                    }
                }
            }
            Ask::Sync { .. } => {
                self.waiting.insert(ticket);
            }
            Ask::Heartbeat { .. }
            | Ask::Leave { .. }
            | Ask::Commit { .. }
            | Ask::Describe
            | Ask::Delete
            | Ask::Resign => {}
        }
    }

    /// The outcomes that are what was observed.
    fn agreeing(
        &self,
        observed: &BTreeMap<Ticket, Answer>,
        outcomes: Vec<Outcome>,
    ) -> Result<Vec<Outcome>, String> {
        let sight = self.production_sight();
        let expected: Vec<_> =
            outcomes.iter().take(3).map(|it| (it.answers.clone(), seen(&it.group))).collect();
        let agrees = |it: &Outcome| {
            let answers_agree = it.answers.len() == observed.len()
                && it.answers.iter().all(|(ticket, answer)| {
                    observed.get(ticket).is_some_and(|other| answer.admits(other))
                });
            answers_agree && seen(&it.group) == sight && it.group.parked() == self.waiting
        };
        let left: Vec<_> = outcomes.into_iter().filter(agrees).collect();
        if left.is_empty() {
            let waiting = &self.waiting;
            return Err(format!(
                "\nobserved {observed:#?} and {sight:#?}, waiting {waiting:?};\n\
                 expected one of {expected:#?}"
            ));
        }
        Ok(left)
    }

    fn production_sight(&self) -> Sight {
        let it = self.production.inspect();
        Sight {
            state: it.state.name().to_owned(),
            generation: it.generation,
            members: it.members.iter().map(|id| self.production.name(id)).collect(),
            leader: it.leader.map(|id| self.production.name(&id)),
            pending: it.pending_members,
            parked: it.parked,
            kind: it.protocol_type.map(|it| it.to_string()),
            protocol: it.protocol.map(|it| it.to_string()),
        }
    }

    /// The request of an operation; `None` if there is nobody who could send it.
    fn ask_of(&self, op: &Op) -> Option<Ask> {
        Some(match op {
            Op::Join { who, instance, session, rebalance, kind, protocols: list, version } => {
                let id = self.id_of(who);
                let said = self.said.get(&id);
                Ask::Join {
                    instance: self.instance_of(&id, *instance),
                    session: SESSIONS[*session],
                    rebalance: REBALANCES[*rebalance],
                    kind: KINDS[*kind].to_owned(),
                    protocols: match said {
                        Some(said) if *list == 0 => said.protocols.clone(),
                        Some(_) | None => protocols(*list),
                    },
                    version: *version,
                    id,
                }
            }
            Op::Sync { who, instance, generation, named, gives, version } => {
                let id = self.id_of(who);
                let (kind, protocol) = self.named(*named);
                Ask::Sync {
                    instance: self.instance_of(&id, *instance),
                    generation: self.generation_of(*generation),
                    kind,
                    protocol,
                    assignments: self.assignments(*gives),
                    version: *version,
                    id,
                }
            }
            Op::Heartbeat { who, instance, generation } => {
                let id = self.id_of(who);
                Ask::Heartbeat {
                    instance: self.instance_of(&id, *instance),
                    generation: self.generation_of(*generation),
                    id,
                }
            }
            Op::Commit { who, instance, generation } => {
                let id = self.id_of(who);
                Ask::Commit {
                    instance: self.instance_of(&id, *instance),
                    generation: self.generation_of(*generation),
                    id,
                }
            }
            Op::Leave { members } => {
                let leaver = |(who, instance): &(Who, usize)| {
                    let id = self.id_of(who);
                    let instance = self.instance_of(&id, *instance);
                    (id, instance)
                };
                Ask::Leave { members: members.iter().map(leaver).collect() }
            }
            Op::Describe => Ask::Describe,
            Op::Delete => Ask::Delete,
            Op::Resign => Ask::Resign,
            Op::Abandon(nth) => {
                let parked = self.waiting.iter().nth(nth % self.waiting.len().max(1))?;
                Ask::Abandon { parked: *parked }
            }
            Op::Advance(_) => return None,
        })
    }

    fn id_of(&self, who: &Who) -> String {
        let group = self.model();
        let nth = |of: Vec<&str>, nth: usize| {
            let id = of.get(nth % of.len().max(1));
            id.map_or_else(|| "stranger".to_owned(), |it| (*it).to_owned())
        };
        match who {
            Who::Nobody => String::new(),
            Who::Stranger => "stranger".to_owned(),
            Who::Leader => nth(group.leader().into_iter().collect(), 0),
            Who::Follower(at) => {
                let members = group.members().into_iter();
                nth(members.filter(|it| Some(*it) != group.leader()).collect(), *at)
            }
            Who::Idle(at) => nth(group.idle().into_iter().collect(), *at),
            Who::Pending(at) => nth(group.pending().into_iter().collect(), *at),
            Who::Once(at) => nth(self.known.iter().rev().map(String::as_str).collect(), *at),
        }
    }

    fn instance_of(&self, id: &str, choice: usize) -> Option<String> {
        match choice {
            0 => None,
            3 => self.said.get(id).and_then(|it| it.instance.clone()),
            other => Some(format!("i{other}")),
        }
    }

    fn generation_of(&self, relative: i32) -> i32 {
        if relative == -100 { -1 } else { self.model().generation() + relative }
    }

    /// Type and protocol as a member names them in SyncGroup.
    fn named(&self, choice: usize) -> (Option<String>, Option<String>) {
        let kind = self.model().kind().map(str::to_owned);
        let protocol = self.model().protocol().map(str::to_owned);
        match choice {
            0 => (kind, protocol),
            1 => (None, None),
            2 => (Some("other".to_owned()), protocol),
            _ => (kind, Some("other".to_owned())),
        }
    }

    fn assignments(&self, choice: usize) -> Vec<(String, String)> {
        let give = |id: &str| (id.to_owned(), format!("{id} at {}", self.now));
        let group = self.model();
        match choice {
            0 => group.members().into_iter().map(give).collect(),
            1 => group.leader().into_iter().chain(["stranger"]).map(give).collect(),
            _ => Vec::new(),
        }
    }
}

fn seen(group: &Group) -> Sight {
    Sight {
        state: format!("{:?}", group.state()),
        generation: group.generation(),
        members: group.members().into_iter().map(str::to_owned).collect(),
        leader: group.leader().map(str::to_owned),
        pending: group.pending().len(),
        parked: group.parked().len(),
        kind: group.kind().map(str::to_owned),
        protocol: group.protocol().map(str::to_owned),
    }
}

/// What came of a step, without names: its own answer, the late ones, the state.
fn result(ticket: Option<Ticket>, observed: &BTreeMap<Ticket, Answer>, after: State) -> String {
    let own = ticket.map(|it| observed.get(&it).map_or("withheld".to_owned(), brief));
    let late = observed.iter().filter(|(answered, _)| Some(**answered) != ticket);
    let late: BTreeSet<_> = late.map(|(_, answer)| brief(answer)).collect();
    format!("{} {late:?} {after:?}", own.unwrap_or_default())
}

/// An answer without names.
fn brief(answer: &Answer) -> String {
    match answer {
        Answer::Join(it) => format!("join {:?} {}", it.error, it.members.len().min(2)),
        Answer::Sync { error, .. } => format!("sync {error:?}"),
        Answer::Verdict(error) => format!("{error:?}"),
        Answer::Leave(error, members) => {
            let errors: BTreeSet<_> = members.iter().map(|(_, _, error)| error).collect();
            format!("leave {error:?} {errors:?}")
        }
        Answer::Describe(it) => format!("describe {}", it.state),
        Answer::Retry => "retry".to_owned(),
    }
}
