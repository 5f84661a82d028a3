//! The production group in the model's words.

use std::{cell::Cell, collections::BTreeMap, sync::Arc, time::Duration};

use kaas_coordinator::{
    api::{
        ErrorCode, HeartbeatRequest, JoinRequest, JoinResponse, LeaveIdentity, LeaveRequest,
        Protocol, SyncRequest, SyncResponse,
    },
    config::GroupConfig,
    group::{Context, Group, Inspection, Reply, Ticket},
    ids::{InstanceId, MemberId},
    ports::Instant,
};
use model::group::{
    Answer, Ask, Described, Error, JoinAnswer, Millis, Protocol as Offer, Settings,
    Ticket as Number,
};

/// The client id of every member.
const CLIENT: &str = "client";

/// One production group. Its member ids are drawn; what everybody else calls them is in `names`.
pub(crate) struct Production {
    group: Group,
    config: GroupConfig,
    now: Instant,
    drawn: Cell<u128>,
    /// Member ids to their names, and back.
    names: BTreeMap<MemberId, String>,
    ids: BTreeMap<String, MemberId>,
}

type Answers = BTreeMap<Number, Answer>;

impl Production {
    pub(crate) fn new(settings: &Settings) -> Self {
        let config = GroupConfig {
            session_timeout_min: Duration::from_millis(settings.session_min),
            session_timeout_max: Duration::from_millis(settings.session_max),
            initial_rebalance_delay: Duration::from_millis(settings.delay),
            size_max: settings.size_max,
            new_member_join_timeout: Duration::from_millis(settings.first_join),
            ..GroupConfig::default()
        };
        Self {
            group: Group::new("g".into(), None),
            config,
            now: Instant::ZERO,
            drawn: Cell::new(0),
            names: BTreeMap::new(),
            ids: BTreeMap::new(),
        }
    }

    pub(crate) fn inspect(&self) -> Inspection {
        self.group.inspect()
    }

    /// What the member is called.
    pub(crate) fn name(&self, id: &MemberId) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// Asks the group. A member id that it makes up is called `fresh` from here on.
    pub(crate) fn ask(
        &mut self,
        ticket: Number,
        ask: &Ask,
        fresh: &str,
    ) -> Result<Answers, String> {
        let (verdict, replies) = self.with(|group, cx, ids| match ask {
            Ask::Join { .. } => {
                group.join(cx, &join(ask, ids), Ticket(ticket));
                None
            }
            Ask::Sync { .. } => {
                group.sync(cx, &sync(ask, ids), Ticket(ticket));
                None
            }
            Ask::Heartbeat { id, instance, generation } => {
                let error = group.heartbeat(
                    cx,
                    &HeartbeatRequest {
                        group: "g".into(),
                        generation: *generation,
                        member_id: member_id(ids, id),
                        instance: instance_id(instance.as_ref()),
                    },
                );
                Some(verdict(error))
            }
            Ask::Commit { id, instance, generation } => {
                let instance = instance_id(instance.as_ref());
                let id = member_id(ids, id);
                Some(result(group.check_commit(cx, *generation, &id, instance.as_ref())))
            }
            Ask::Leave { members } => Some(leave(group, cx, ids, members)),
            Ask::Describe => None,
            Ask::Delete => Some(result(group.delete(cx))),
            Ask::Abandon { parked } => {
                group.abandon(cx, Ticket(*parked));
                None
            }
            Ask::Resign => {
                group.dissolve(cx);
                None
            }
        });
        self.learn(&replies, ask, fresh)?;
        let mut answers = self.told(replies)?;
        answers.extend(verdict.map(|verdict| (ticket, verdict)));
        if *ask == Ask::Describe {
            answers.insert(ticket, self.describe());
        }
        Ok(answers)
    }

    /// Moves the clock, and ticks whenever the group asks for it.
    pub(crate) fn wait_until(&mut self, to: Millis) -> Result<Answers, String> {
        let target = Instant::from_millis(to);
        let mut replies = Vec::new();
        while let Some(deadline) = self.group.deadline().filter(|at| *at <= target) {
            self.now = deadline.max(self.now);
            replies.extend(self.with(|group, cx, _| group.tick(cx)).1);
        }
        self.now = target;
        self.told(replies)
    }

    fn with<T>(
        &mut self,
        step: impl FnOnce(&mut Group, &mut Context<'_>, &BTreeMap<String, MemberId>) -> T,
    ) -> (T, Vec<Reply>) {
        let random = || {
            self.drawn.set(self.drawn.get() + 1);
            self.drawn.get().wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
        };
        let (mut replies, mut notes) = (Vec::new(), Vec::new());
        let mut cx = Context {
            now: self.now,
            config: &self.config,
            random: &random,
            replies: &mut replies,
            notes: &mut notes,
        };
        let result = step(&mut self.group, &mut cx, &self.ids);
        (result, replies)
    }

    /// Names the id that was made up, if one was: it is a member's or in an answer.
    fn learn(&mut self, replies: &[Reply], ask: &Ask, fresh: &str) -> Result<(), String> {
        let Ask::Join { id, instance, .. } = ask else { return Ok(()) };
        let answered = replies.iter().filter_map(|reply| match reply {
            Reply::Join(_, it) => Some(&it.member_id),
            Reply::Sync(..) => None,
        });
        let is_new = |it: &&MemberId| {
            !it.is_empty() && !self.names.contains_key(*it) && it.as_str() != id.as_str()
        };
        let found: Vec<_> =
            self.group.member_ids().chain(answered).filter(is_new).cloned().collect();
        for found in found {
            let begins_with = format!("{}-", instance.as_deref().unwrap_or(CLIENT));
            if !found.as_str().starts_with(&begins_with) {
                return Err(format!("the id {found:?} does not begin with {begins_with:?}"));
            }
            let name = self.names.entry(found.clone()).or_insert_with(|| fresh.to_owned());
            let other = self.ids.insert(name.clone(), found.clone());
            if other.is_some_and(|other| other != found) {
                return Err("two ids were made up".to_owned());
            }
        }
        Ok(())
    }

    fn told(&self, replies: Vec<Reply>) -> Result<Answers, String> {
        let mut answers = Answers::new();
        for reply in replies {
            let (ticket, answer) = match reply {
                Reply::Join(ticket, it) => (ticket.0, self.joined(&it)),
                Reply::Sync(ticket, it) => (ticket.0, synced(&it)),
            };
            if answers.insert(ticket, answer).is_some() {
                return Err(format!("request {ticket} is answered twice"));
            }
        }
        Ok(answers)
    }

    fn joined(&self, it: &JoinResponse) -> Answer {
        let mut members: Vec<_> = it
            .members
            .iter()
            .map(|it| (self.name(&it.member_id), instance_name(&it.instance), text(&it.metadata)))
            .collect();
        members.sort();
        Answer::Join(JoinAnswer {
            error: error(it.error),
            id: self.name(&it.member_id),
            generation: it.generation,
            kind: it.protocol_type.as_deref().map(str::to_owned),
            protocol: it.protocol.as_deref().map(str::to_owned),
            leader: self.name(&it.leader),
            members,
            skip_assignment: it.skip_assignment,
        })
    }

    fn describe(&self) -> Answer {
        let it = self.group.describe();
        let members = it.members.iter().map(|it| {
            let instance = instance_name(&it.instance);
            (self.name(&it.member_id), instance, text(&it.metadata), text(&it.assignment))
        });
        let mut members: Vec<_> = members.collect();
        members.sort();
        Answer::Describe(Described {
            state: it.state.to_owned(),
            kind: it.protocol_type.to_string(),
            protocol: it.protocol.to_string(),
            members,
        })
    }
}

fn join(ask: &Ask, ids: &BTreeMap<String, MemberId>) -> JoinRequest {
    let Ask::Join { id, instance, session, rebalance, kind, protocols, version } = ask else {
        unreachable!("the caller looked")
    };
    let protocol = |(name, metadata): &Offer| Protocol {
        name: name.as_str().into(),
        metadata: metadata.as_bytes().into(),
    };
    JoinRequest {
        group: "g".into(),
        member_id: member_id(ids, id),
        instance: instance_id(instance.as_ref()),
        client_id: CLIENT.into(),
        session_timeout: Duration::from_millis(*session),
        rebalance_timeout: Duration::from_millis(*rebalance),
        protocol_type: kind.as_str().into(),
        protocols: protocols.iter().map(protocol).collect(),
        version: *version,
        reason: None,
    }
}

fn sync(ask: &Ask, ids: &BTreeMap<String, MemberId>) -> SyncRequest {
    let Ask::Sync { id, instance, generation, kind, protocol, assignments, version } = ask else {
        unreachable!("the caller looked")
    };
    let assignment = |(to, what): &(String, String)| -> (MemberId, Arc<[u8]>) {
        (member_id(ids, to), what.as_bytes().into())
    };
    SyncRequest {
        group: "g".into(),
        generation: *generation,
        member_id: member_id(ids, id),
        instance: instance_id(instance.as_ref()),
        protocol_type: kind.as_deref().map(Arc::from),
        protocol_name: protocol.as_deref().map(Arc::from),
        assignments: assignments.iter().map(assignment).collect(),
        version: *version,
    }
}

fn leave(
    group: &mut Group,
    cx: &mut Context<'_>,
    ids: &BTreeMap<String, MemberId>,
    members: &[(String, Option<String>)],
) -> Answer {
    let leaver = |(id, instance): &(String, Option<String>)| LeaveIdentity {
        member_id: member_id(ids, id),
        instance: instance_id(instance.as_ref()),
    };
    let request = LeaveRequest { group: "g".into(), members: members.iter().map(leaver).collect() };
    let response = group.leave(cx, &request);
    let verdicts = response.members.iter().zip(members).map(|(it, (id, _))| {
        assert_eq!(it.member_id, member_id(ids, id), "one verdict each, in order");
        (id.clone(), instance_name(&it.instance), error(it.error))
    });
    Answer::Leave(error(response.error), verdicts.collect())
}

fn synced(it: &SyncResponse) -> Answer {
    Answer::Sync {
        error: error(it.error),
        kind: it.protocol_type.as_deref().map(str::to_owned),
        protocol: it.protocol_name.as_deref().map(str::to_owned),
        assignment: text(&it.assignment),
    }
}

fn member_id(ids: &BTreeMap<String, MemberId>, name: &str) -> MemberId {
    ids.get(name).cloned().unwrap_or_else(|| name.into())
}

fn instance_id(name: Option<&String>) -> Option<InstanceId> {
    name.map(|it| it.as_str().into())
}

fn instance_name(id: &Option<InstanceId>) -> Option<String> {
    id.as_ref().map(InstanceId::to_string)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("only text was sent")
}

fn error(code: ErrorCode) -> Error {
    Error(code as i16)
}

fn verdict(code: ErrorCode) -> Answer {
    Answer::Verdict(error(code))
}

fn result(result: Result<(), ErrorCode>) -> Answer {
    verdict(result.err().unwrap_or(ErrorCode::None))
}
