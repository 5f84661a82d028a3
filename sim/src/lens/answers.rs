//! What brokers answer, in the words of the model.

use std::sync::Arc;

use kaas_coordinator::{
    api::{
        DescribedGroup, ErrorCode, FoundCoordinator, JoinResponse, KeyType, LeftMember, Producer,
        Response,
    },
    file_name,
    ids::GroupId,
};
use model::{Kind, Micros, Name, What};

use super::{Lens, Static, asked::Asked};
use crate::{client::assignor::decode_names, milestone::Milestone, record::Record};

/// Where and when an answer was given.
struct At<'a> {
    broker: &'a Name,
    local: Micros,
}

impl Lens {
    /// A broker answers.
    pub fn answered(
        &mut self,
        request: u64,
        broker: &Name,
        local: u64,
        response: &Response,
        record: &mut Record,
    ) {
        let local = Micros(local);
        self.see(What::RequestAnswered { request, local });
        let Some(asked) = self.asked.get(&request).cloned() else { return };
        let at = At { broker, local };
        match response {
            Response::FindCoordinator(found) => self.located(&at, &asked, found, record),
            Response::JoinGroup(it) => {
                record.refused(it.error);
                if matches!(it.error, ErrorCode::None | ErrorCode::MemberIdRequired) {
                    self.joined(&at, &asked, it, record);
                }
            }
            Response::SyncGroup(it) => {
                record.refused(it.error);
                if it.error.is_none() {
                    self.synced(&at, &asked, &it.assignment);
                }
            }
            Response::OffsetCommit(partitions) => {
                partitions.iter().for_each(|(_, error)| record.refused(*error));
                if response.is_success() && asked.by_member {
                    self.accepted(broker, &asked);
                }
            }
            Response::ListGroups { error, groups } => {
                record.refused(*error);
                if error.is_none() {
                    let groups = groups.iter().map(|it| it.group.shared()).collect();
                    let (broker, round) = (broker.clone(), asked.round);
                    self.see(What::Listed { broker, local, round, groups, complete: true });
                }
            }
            Response::DescribeGroups(groups) => self.described(&at, groups, record),
            Response::OffsetFetch(it) => {
                record.refused(it.error);
                it.partitions.iter().for_each(|it| record.refused(it.error));
            }
            Response::Heartbeat(error) => {
                record.refused(*error);
                let (reign, well) = (self.reign(broker, &asked.groups[0]), error.is_none());
                self.see(What::HeartbeatAnswered { request, reign, well });
            }
            Response::LeaveGroup(it) => {
                record.refused(it.error);
                self.left(broker, &asked.groups[0], &it.members);
            }
            Response::OffsetDelete(it) => record.refused(it.error),
            Response::DeleteGroups(groups) => {
                groups.iter().for_each(|(_, error)| record.refused(*error));
                if response.is_success() {
                    record.reach(Milestone::GroupDeleted);
                }
            }
            Response::InitProducerId(it) => record.refused(it.error),
            Response::AddPartitionsToTxn(partitions) | Response::TxnOffsetCommit(partitions) => {
                partitions.iter().for_each(|(_, error)| record.refused(*error));
            }
            Response::AddOffsetsToTxn(error)
            | Response::EndTxn(error)
            | Response::TxnMarker(error) => record.refused(*error),
            Response::VerifyTxn(it) => record.refused(it.error),
            Response::TxnOutcome(it) => record.refused(it.err().unwrap_or(ErrorCode::None)),
        }
        if response.is_success() {
            self.spoke(&at, &asked, record);
        }
        if let [group] = &asked.groups[..] {
            record.answered(group, response);
        }
    }

    /// A success speaks for what it is about.
    fn spoke(&mut self, at: &At<'_>, asked: &Asked, record: &mut Record) {
        if let ([group], false) = (&asked.groups[..], asked.what.is_empty())
            && asked.what != "describe"
        {
            self.served(at, group, asked.what, record);
        }
        if let Some(id) = &asked.transactional_id {
            self.see(What::Served {
                broker: at.broker.clone(),
                local: at.local,
                key: Arc::clone(id),
                kind: Kind::Transaction,
                what: "transaction",
            });
        }
    }

    fn served(&mut self, at: &At<'_>, group: &GroupId, what: &'static str, record: &mut Record) {
        if self.booting.contains(at.broker) {
            record.reach(Milestone::BootServed);
        } else if let Some(view) = &self.view {
            if view.uses_fallback(group) {
                record.reach(Milestone::FallbackUsed);
            }
            if view.overrules_hash(group) {
                record.reach(Milestone::ExplicitUsed);
            }
        }
        if what == "commit" {
            let name = file_name::encode(group.as_str());
            if name.starts_with("%~") {
                record.reach(Milestone::LongGroupId);
            } else if name != group.as_str() {
                record.reach(Milestone::OddGroupId);
            }
        }
        self.see(What::Served {
            broker: at.broker.clone(),
            local: at.local,
            key: group.shared(),
            kind: Kind::Group,
            what,
        });
    }

    fn located(
        &mut self,
        at: &At<'_>,
        asked: &Asked,
        found: &[FoundCoordinator],
        record: &mut Record,
    ) {
        for it in found {
            record.refused(it.error);
            let Some((coordinator, _)) = &it.coordinator else { continue };
            self.see(What::Located {
                broker: at.broker.clone(),
                local: at.local,
                key: Arc::clone(&it.key),
                kind: match asked.key_type {
                    Some(KeyType::Transaction) => Kind::Transaction,
                    Some(KeyType::Group) | None => Kind::Group,
                },
                coordinator: Some(coordinator.shared()),
            });
        }
    }

    fn joined(&mut self, at: &At<'_>, asked: &Asked, it: &JoinResponse, record: &mut Record) {
        let (group, client) = (&asked.groups[0], asked.client.clone());
        let member = it.member_id.shared();
        self.see(What::MemberIdIssued {
            group: group.shared(),
            client: client.clone(),
            member: Arc::clone(&member),
        });
        if !it.error.is_none() {
            return;
        }
        let reign = self.reign(at.broker, group);
        for listed in &it.members {
            if let Some(instance) = &listed.instance {
                let (group, instance) = (group.shared(), instance.shared());
                let member = listed.member_id.shared();
                self.see(What::InstanceListed { group, reign, member, instance });
            }
        }
        if let Some(instance) = &asked.instance {
            let who = (group.shared(), Arc::clone(instance));
            let now = (reign, it.generation, Arc::clone(&member));
            let before = self.statics.insert(who, now.clone());
            let goes_on = |it: &Static| (it.0, it.1) == (now.0, now.1) && it.2 != now.2;
            if before.as_ref().is_some_and(goes_on) {
                record.reach(Milestone::StaticMemberReplaced);
            }
            if it.skip_assignment {
                record.reach(Milestone::StaticLeaderSkipped);
            }
        }
        let said = asked.protocols.iter().find(|offer| Some(&offer.name) == it.protocol.as_ref());
        let members = it.members.iter().map(|it| (it.member_id.shared(), it.metadata.to_vec()));
        self.see(What::JoinAnswered {
            broker: at.broker.clone(),
            group: group.shared(),
            reign,
            generation: it.generation,
            client,
            member,
            instance: asked.instance.clone(),
            session: Micros(asked.session),
            leader: it.leader.shared(),
            protocol: it.protocol.clone().unwrap_or_else(|| "".into()),
            said: said.map(|it| it.metadata.to_vec()),
            members: members.collect(),
        });
    }

    fn accepted(&mut self, broker: &Name, asked: &Asked) {
        if let Some((op, _)) = asked.ops.first() {
            let reign = self.reign(broker, &asked.groups[0]);
            self.see(What::CommitAccepted { op: *op, reign });
        }
    }

    fn left(&mut self, broker: &Name, group: &GroupId, members: &[LeftMember]) {
        let reign = self.reign(broker, group);
        for left in members.iter().filter(|it| it.error.is_none()) {
            let (group, member) = (group.shared(), left.member_id.shared());
            self.see(What::MemberLeft { group, reign, member });
        }
    }

    fn synced(&mut self, at: &At<'_>, asked: &Asked, assignment: &[u8]) {
        let group = &asked.groups[0];
        self.see(What::SyncAnswered {
            broker: at.broker.clone(),
            group: group.shared(),
            reign: self.reign(at.broker, group),
            generation: asked.generation,
            member: asked.member.clone(),
            assignment: assignment.to_vec(),
            partitions: decode_names(assignment).into_iter().map(Name::from).collect(),
        });
    }

    fn described(&mut self, at: &At<'_>, groups: &[DescribedGroup], record: &mut Record) {
        for it in groups {
            record.refused(it.error);
            if it.error.is_none() {
                self.served(at, &it.group, "describe", record);
            }
        }
    }
}

/// A number for an answer, for the digest.
pub fn verdict_of(response: &Response) -> u64 {
    let code = |error: ErrorCode| u64::from(error.code().unsigned_abs());
    let epoch = |producer: Producer| u64::from(producer.epoch.unsigned_abs());
    match response {
        Response::FindCoordinator(found) => found.first().map_or(0, |it| code(it.error)),
        Response::JoinGroup(it) => code(it.error) | u64::from(it.generation.unsigned_abs()) << 8,
        Response::SyncGroup(it) => code(it.error) | (it.assignment.len() as u64) << 8,
        Response::Heartbeat(error) => code(*error),
        Response::LeaveGroup(it) => code(it.error),
        Response::OffsetCommit(partitions) => {
            partitions.iter().fold(0, |all, (_, error)| all * 31 + code(*error))
        }
        Response::OffsetFetch(it) => it.partitions.iter().fold(code(it.error), |all, it| {
            all.wrapping_mul(31).wrapping_add(it.offset.unsigned_abs() + code(it.error))
        }),
        Response::OffsetDelete(it) => code(it.error),
        Response::DeleteGroups(groups) => groups.iter().map(|(_, error)| code(*error)).sum(),
        Response::ListGroups { error, groups } => code(*error) | (groups.len() as u64) << 8,
        Response::DescribeGroups(groups) => groups.iter().map(|it| code(it.error)).sum(),
        Response::InitProducerId(it) => {
            code(it.error) | it.producer.id.unsigned_abs() << 24 | epoch(it.producer) << 8
        }
        Response::AddPartitionsToTxn(partitions) | Response::TxnOffsetCommit(partitions) => {
            partitions.iter().fold(0, |all, (_, error)| all * 31 + code(*error))
        }
        Response::AddOffsetsToTxn(error) | Response::EndTxn(error) | Response::TxnMarker(error) => {
            code(*error)
        }
        Response::VerifyTxn(it) => code(it.error) | it.transaction << 8,
        Response::TxnOutcome(Ok(outcome)) => 1 << 8 | *outcome as u64,
        Response::TxnOutcome(Err(error)) => code(*error),
    }
}
