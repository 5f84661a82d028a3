//! JoinGroup (2.2).

use std::collections::BTreeSet;

use super::{
    Answer, Ask, Error, Group, JoinAnswer, Member, Protocol, State, Ticket, outcome::Turn,
};

/// The fields of a JoinGroup.
struct Join<'a> {
    ticket: Ticket,
    id: &'a str,
    instance: Option<&'a str>,
    session: u64,
    rebalance: u64,
    kind: &'a str,
    protocols: &'a [Protocol],
    version: i16,
}

impl Group {
    pub(super) fn join(&mut self, turn: &mut Turn, ticket: Ticket, ask: &Ask, fresh: &str) {
        let Ask::Join { id, instance, session, rebalance, kind, protocols, version } = ask else {
            unreachable!("the caller looked")
        };
        let join = Join {
            ticket,
            id,
            instance: instance.as_deref(),
            session: *session,
            rebalance: *rebalance,
            kind,
            protocols,
            version: *version,
        };
        if !(self.settings.session_min..=self.settings.session_max).contains(session) {
            turn.row("2.2 row 2");
            let refused = JoinAnswer::refused(Error::INVALID_SESSION_TIMEOUT, id);
            return turn.answer(ticket, Answer::Join(refused));
        }
        let answer = self.try_join(turn, &join, fresh);
        turn.answer_if(ticket, answer.map(Answer::Join));
        // Row 14.
        self.try_complete(turn);
    }

    /// The answer, unless it is withheld.
    fn try_join(&mut self, turn: &mut Turn, join: &Join<'_>, fresh: &str) -> Option<JoinAnswer> {
        if !self.has_room(turn, join.id) {
            turn.row("2.2 row 5");
            self.members.remove(join.id);
            self.pending.remove(join.id);
            self.elect_if_gone(turn);
            return Some(JoinAnswer::refused(Error::GROUP_MAX_SIZE_REACHED, ""));
        }
        let refuse = |error| Some(JoinAnswer::refused(error, join.id));
        if self.state == State::Dead {
            turn.row("2.2 row 6");
            return refuse(Error::COORDINATOR_NOT_AVAILABLE);
        }
        if !self.accepts(turn, join) {
            turn.row("2.2 row 7");
            return refuse(Error::INCONSISTENT_GROUP_PROTOCOL);
        }
        if join.id.is_empty() {
            return self.join_unknown(turn, join, fresh);
        }
        if self.pending.contains_key(join.id) {
            if join.instance.is_some() {
                turn.row("2.2 row 12: with an instance");
                return Some(JoinAnswer::refused(Error::UNKNOWN_SERVER_ERROR, ""));
            }
            turn.row("2.2 row 12");
            self.pending.remove(join.id);
            self.add(turn, join, join.id);
            return None;
        }
        if let Err(error) = self.check(turn, join.id, join.instance) {
            turn.row("2.2 row 13");
            return refuse(error);
        }
        self.rejoin(turn, join)
    }

    /// 2.2.1
    fn has_room(&self, turn: &mut Turn, id: &str) -> bool {
        let max = self.settings.size_max;
        match self.state {
            State::Empty | State::Dead => true,
            State::PreparingRebalance => {
                let is_parked = self.members.get(id).is_some_and(|it| it.joining.is_some());
                let parked = self.members.values().filter(|it| it.joining.is_some()).count();
                if !is_parked && parked >= max {
                    turn.row("2.2.1 P: full");
                }
                is_parked || parked < max
            }
            State::CompletingRebalance | State::Stable => {
                let has_room = self.members.contains_key(id) || self.members.len() < max;
                if !has_room {
                    turn.row("2.2.1 C, S: full");
                }
                has_room
            }
        }
    }

    /// The protocol test.
    fn accepts(&self, turn: &mut Turn, join: &Join<'_>) -> bool {
        let names: BTreeSet<_> = join.protocols.iter().map(|(name, _)| name).collect();
        if names.len() < join.protocols.len() {
            turn.row("2.2 protocols: one is named twice");
            return false;
        }
        if self.state == State::Empty {
            let is_complete = !join.kind.is_empty() && !join.protocols.is_empty();
            if !is_complete {
                turn.row("2.2 protocols: type or list empty in E");
            }
            return is_complete;
        }
        if self.kind.as_deref() != Some(join.kind) {
            turn.row("2.2 protocols: another type");
            return false;
        }
        let is_common = join.protocols.iter().any(|(name, _)| self.is_candidate(name));
        if !is_common {
            turn.row("2.2 protocols: none in common");
        }
        is_common
    }

    fn join_unknown(
        &mut self,
        turn: &mut Turn,
        join: &Join<'_>,
        fresh: &str,
    ) -> Option<JoinAnswer> {
        let holder = join.instance.and_then(|it| self.holder(it)).map(str::to_owned);
        match (join.instance, holder) {
            (Some(_), Some(old)) => {
                turn.row("2.2 row 8");
                return self.replace(turn, join, &old, fresh);
            }
            (Some(_), None) => turn.row("2.2 row 9"),
            (None, _) if join.version >= 4 => {
                turn.row("2.2 row 10");
                self.pending.insert(fresh.to_owned(), self.now + join.session);
                return Some(JoinAnswer::refused(Error::MEMBER_ID_REQUIRED, fresh));
            }
            (None, _) => turn.row("2.2 row 11"),
        }
        self.add(turn, join, fresh);
        None
    }

    /// 2.2.2
    fn add(&mut self, turn: &mut Turn, join: &Join<'_>, id: &str) {
        if self.state == State::PreparingRebalance && self.generation == 0 {
            turn.row("2.2.2 added in P of generation 0");
            self.added = true;
        }
        if self.members.is_empty() {
            self.kind = Some(join.kind.to_owned());
        }
        let member = Member {
            instance: join.instance.map(str::to_owned),
            session: join.session,
            rebalance: join.rebalance,
            protocols: join.protocols.to_vec(),
            assignment: String::new(),
            joining: Some(join.ticket),
            syncing: None,
            is_new: true,
            until: Some(self.now + self.settings.first_join),
        };
        self.members.insert(id.to_owned(), member);
        self.leader.get_or_insert_with(|| id.to_owned());
        self.rebalance(turn);
    }

    /// Rows 13a to 13g.
    fn rejoin(&mut self, turn: &mut Turn, join: &Join<'_>) -> Option<JoinAnswer> {
        let leads = self.leader.as_deref() == Some(join.id);
        let is_same = self.members[join.id].protocols == join.protocols;
        match self.state {
            State::PreparingRebalance => turn.row("2.2 row 13a"),
            State::CompletingRebalance if is_same => {
                turn.row("2.2 row 13b");
                return Some(self.joined(join.id, leads));
            }
            State::CompletingRebalance => turn.row("2.2 row 13c"),
            State::Stable if leads => turn.row("2.2 row 13d"),
            State::Stable if !is_same => turn.row("2.2 row 13e"),
            State::Stable => {
                turn.row("2.2 row 13f");
                return Some(self.joined(join.id, false));
            }
            State::Empty | State::Dead => unreachable!("members imply neither"),
        }
        self.update(join, join.id);
        self.park(turn, join.ticket, join.id);
        self.rebalance(turn);
        None
    }

    fn update(&mut self, join: &Join<'_>, id: &str) {
        let member = self.member(id);
        member.protocols = join.protocols.to_vec();
        member.session = join.session;
        member.rebalance = join.rebalance;
    }

    /// A parked request that is superseded is one that Kafka forgets.
    fn park(&mut self, turn: &mut Turn, ticket: Ticket, id: &str) {
        let member = self.member(id);
        let superseded = [member.joining.replace(ticket), member.syncing.take()];
        for old in superseded.into_iter().flatten() {
            turn.row("3.6 a parked request is superseded by a join");
            turn.answer(old, Answer::Retry);
        }
    }

    /// 2.2.3
    fn replace(
        &mut self,
        turn: &mut Turn,
        join: &Join<'_>,
        old: &str,
        fresh: &str,
    ) -> Option<JoinAnswer> {
        let leader_before = self.leader.clone();
        let mut member = self.members.remove(old).expect("it holds the instance");
        if let Some(ticket) = member.joining.take() {
            turn.row("2.2.3 parked join fenced");
            let refused = JoinAnswer::refused(Error::FENCED_INSTANCE_ID, old);
            turn.answer(ticket, Answer::Join(refused));
        }
        if let Some(ticket) = member.syncing.take() {
            turn.row("2.2.3 parked sync fenced");
            turn.answer(ticket, Answer::unsynced(Error::FENCED_INSTANCE_ID));
        }
        // Section 8: with the old session timeout.
        member.until = Some(self.now + member.session);
        self.members.insert(fresh.to_owned(), member);
        let leads = leader_before.as_deref() == Some(old);
        if leads {
            self.leader = Some(fresh.to_owned());
        }
        self.update(join, fresh);
        match self.state {
            State::PreparingRebalance => turn.row("2.2.3 P"),
            State::CompletingRebalance => turn.row("2.2.3 C"),
            State::Stable if Some(self.vote(turn)) != self.protocol => {
                turn.row("2.2.3 S: another protocol");
            }
            State::Stable if join.version >= 9 => {
                turn.row(if leads { "2.2.3 S: v9 leader" } else { "2.2.3 S: v9 follower" });
                let mut answer = self.joined(fresh, leads);
                answer.skip_assignment = leads;
                return Some(answer);
            }
            State::Stable => {
                turn.row("2.2.3 S: before v9");
                let leader = leader_before.unwrap_or_default();
                return Some(JoinAnswer { leader, ..self.joined(fresh, false) });
            }
            State::Empty | State::Dead => unreachable!("members imply neither"),
        }
        self.park(turn, join.ticket, fresh);
        self.rebalance(turn);
        None
    }
}
