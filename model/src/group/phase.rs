//! The join phase: what starts it (3.3), the initial window (3.4), how it completes (3.5), the vote (4).

use super::{
    Answer, Error, Group, JoinAnswer, Millis, Phase, State, WAIT_MIN, message::Joined,
    outcome::Turn,
};

impl Group {
    /// A rebalance starts, if the state is E, C or S.
    pub(super) fn rebalance(&mut self, turn: &mut Turn) {
        let end = self.now + self.rebalance_timeout();
        match self.state {
            State::PreparingRebalance | State::Dead => return,
            State::Empty => {
                turn.row("3.1 E to P");
                let delay = self.settings.delay;
                let remaining = self.rebalance_timeout().saturating_sub(delay);
                self.phase =
                    Some(Phase::Initial { end: self.now + delay, window: delay, remaining });
            }
            State::CompletingRebalance => {
                turn.row("3.1 C to P");
                self.refuse_syncs(turn);
                self.phase = Some(Phase::Rejoin { end });
            }
            State::Stable => {
                turn.row("3.1 S to P");
                self.phase = Some(Phase::Rejoin { end });
            }
        }
        self.state = State::PreparingRebalance;
        self.unsynced.clear();
        self.sync_end = None;
        if self.phase_end() == Some(self.now) {
            self.end_phase(turn);
        } else {
            self.try_complete(turn);
        }
    }

    pub(super) fn phase_end(&self) -> Option<Millis> {
        self.phase.map(|phase| match phase {
            Phase::Initial { end, .. } | Phase::Rejoin { end } => end,
        })
    }

    /// Entering P from C answers every parked sync and clears assignments; who is answered gives a
    /// sign of life with it.
    fn refuse_syncs(&mut self, turn: &mut Turn) {
        let now = self.now;
        for member in self.members.values_mut() {
            member.assignment.clear();
            if let Some(ticket) = member.syncing.take() {
                turn.row("3.3 C to P: parked sync answered");
                turn.answer(ticket, Answer::unsynced(Error::REBALANCE_IN_PROGRESS));
                member.until = Some(now + member.session);
            }
        }
    }

    /// Completes the join phase early: all members are parked and no id is pending. The initial
    /// window is never shortened.
    pub(super) fn try_complete(&mut self, turn: &mut Turn) {
        let all = self.members.values().all(|it| it.joining.is_some());
        match self.phase {
            Some(Phase::Rejoin { .. }) if all && self.pending.is_empty() => {
                turn.row("3.2 join: everybody is there");
                self.complete(turn);
            }
            Some(Phase::Rejoin { .. }) if all => turn.row("3.2 join: a pending id is waited for"),
            Some(Phase::Initial { .. }) if all => turn.row("3.4 never completes early"),
            Some(_) | None => {}
        }
    }

    /// The time of the join phase is up.
    pub(super) fn end_phase(&mut self, turn: &mut Turn) {
        match self.phase {
            Some(Phase::Initial { window, remaining, .. }) if self.added && remaining > 0 => {
                turn.row("3.4 window extended");
                self.added = false;
                let next = remaining.min(self.settings.delay);
                self.phase = Some(Phase::Initial {
                    end: self.now + next,
                    window: next,
                    remaining: remaining.saturating_sub(window),
                });
            }
            Some(Phase::Initial { .. }) => {
                let is_stale = self.added;
                turn.row(if is_stale { "3.4 nothing remains" } else { "3.4 window over" });
                self.complete(turn);
            }
            Some(Phase::Rejoin { .. }) => {
                turn.row("3.2 join: time is up");
                self.complete(turn);
            }
            None => unreachable!("only P has a join timer"),
        }
    }

    fn complete(&mut self, turn: &mut Turn) {
        // 1. Dynamic members without a parked join are removed.
        let before = self.members.len();
        self.members.retain(|_, it| it.joining.is_some() || it.instance.is_some());
        if self.members.len() < before {
            turn.row("3.5.1 absent dynamic members removed");
        }
        self.elect_if_gone(turn);
        // 2. The leader must be there.
        let present: Vec<_> = self.members.iter().filter(|(_, it)| it.joining.is_some()).collect();
        let present: Vec<_> = present.into_iter().map(|(id, _)| id.clone()).collect();
        if present.is_empty() && !self.members.is_empty() {
            turn.row("3.5.2 only absent static members: waits again");
            let wait = self.rebalance_timeout().max(WAIT_MIN);
            self.phase = Some(Phase::Rejoin { end: self.now + wait });
            return;
        }
        let is_led = self.leader.as_ref().is_some_and(|leader| present.contains(leader));
        if !is_led && !present.is_empty() {
            turn.row("3.5.2 another leader");
            self.leader = Some(turn.choose(present));
        }
        // 3. The next generation.
        self.phase = None;
        self.generation += 1;
        if self.members.is_empty() {
            turn.row("3.1 P to E");
            self.state = State::Empty;
            self.protocol = None;
            self.leader = None;
            return;
        }
        turn.row("3.1 P to C");
        self.state = State::CompletingRebalance;
        self.protocol = Some(self.vote(turn));
        self.unsynced = self.members.keys().cloned().collect();
        self.sync_end = Some(self.now + self.rebalance_timeout());
        for id in self.unsynced.clone() {
            self.refresh(&id);
            self.member(&id).is_new = false;
            match self.member(&id).joining.take() {
                Some(ticket) => {
                    let leads = self.leader.as_deref() == Some(&id);
                    let answer = self.joined(&id, leads);
                    turn.answer(ticket, Answer::Join(answer));
                }
                None => turn.row("3.5.1 absent static member stays"),
            }
        }
    }

    /// A leader that is no member any more is succeeded by any member.
    pub(super) fn elect_if_gone(&mut self, turn: &mut Turn) {
        let Some(leader) = &self.leader else { return };
        if self.members.contains_key(leader) {
            return;
        }
        let members: Vec<_> = self.members.keys().cloned().collect();
        if members.is_empty() {
            self.leader = None;
        } else {
            turn.row("4 leader removed: any member");
            self.leader = Some(turn.choose(members));
        }
    }

    /// Each member votes for the first candidate in its list; of those with most votes any wins.
    pub(super) fn vote(&self, turn: &mut Turn) -> String {
        let mut votes = std::collections::BTreeMap::new();
        for member in self.members.values() {
            let mut names = member.protocols.iter().map(|(name, _)| name);
            let choice = names.find(|name| self.is_candidate(name));
            *votes.entry(choice.expect("the join test left a candidate")).or_insert(0) += 1;
        }
        let most = votes.values().max().copied();
        let winners: Vec<_> =
            votes.iter().filter(|(_, count)| Some(**count) == most).map(|(it, _)| *it).collect();
        if winners.len() > 1 {
            turn.row("4 vote: a tie");
        }
        turn.choose(winners).clone()
    }

    /// The answer to a member of the current generation.
    pub(super) fn joined(&self, id: &str, with_members: bool) -> JoinAnswer {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let see = |(id, member): (&String, &super::Member)| -> Joined {
            (id.clone(), member.instance.clone(), member.metadata(protocol))
        };
        JoinAnswer {
            error: Error::NONE,
            id: id.to_owned(),
            generation: self.generation,
            kind: self.kind.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone().unwrap_or_default(),
            members: if with_members { self.members.iter().map(see).collect() } else { Vec::new() },
            skip_assignment: false,
        }
    }
}

impl super::Member {
    pub(super) fn metadata(&self, protocol: &str) -> String {
        let known = self.protocols.iter().find(|(name, _)| name == protocol);
        known.map(|(_, metadata)| metadata.clone()).unwrap_or_default()
    }
}
