//! Take-overs of one transactional id, and what becomes of operations under its claim.

use super::{
    Cx, STATE_DIR,
    entry::{Entry, Store, Why, Writing},
    file::BadFile,
    job::TxnJob,
    state::State,
};
use crate::{
    api::ErrorCode,
    claim::{Outcome, Paths, TakeOver, VolumeError},
    manager::Job,
    note::TxnEvent,
};

impl Entry {
    /// Begins a take-over, unless one is under way or done.
    pub(super) fn load(&mut self, cx: &mut Cx<'_>) {
        match &self.store {
            Store::Unloaded | Store::Unreadable { .. } => {}
            Store::Loading { .. } | Store::Ready { .. } | Store::Gone => return,
        }
        let claim = cx.core.name_claim(Paths::new(STATE_DIR, self.id.as_str()));
        let job = TxnJob::TakeOver { of: self.which(), claim: claim.clone() };
        cx.core.jobs.push(Job::Transaction(job));
        self.store = Store::Loading { claim };
    }

    /// A take-over is over.
    pub(super) fn took_over(
        &mut self,
        cx: &mut Cx<'_>,
        outcome: TakeOver<Result<Option<State>, BadFile>>,
    ) {
        let Store::Loading { claim } = std::mem::replace(&mut self.store, Store::Unloaded) else {
            unreachable!("only a loading entry takes over")
        };
        match outcome {
            TakeOver::Owned { content: Ok(state), removed, .. } => {
                let (transaction, phase) =
                    state.as_ref().map_or((0, "none"), |it| (it.transaction, it.phase.name()));
                cx.note(&self.id, TxnEvent::Loaded { transaction, phase, claims_removed: removed });
                let state = state.map(Box::new);
                self.store = Store::Ready { claim, state, changes: 0 };
                self.resumes = false;
                self.retry_at = None;
                self.go_on(cx);
            }
            TakeOver::Owned { content: Err(bad), .. } => {
                cx.note(&self.id, TxnEvent::Quarantined { reason: bad.to_string() });
                let until = cx.turn.now + cx.core.config.poll_interval;
                self.store = Store::Unreadable { claim, until };
                self.resumes = false;
                self.refuse_all(cx, ErrorCode::CoordinatorNotAvailable);
            }
            TakeOver::Fenced => {
                self.store = Store::Loading { claim };
                self.fenced(cx, "take-over");
            }
            TakeOver::Failed { error, .. } => {
                self.note_failure(cx, &error);
                cx.core.jobs.push(Job::Relinquish { claim });
                self.retry_at = Some(cx.turn.now + cx.core.config.txn.retry_backoff);
                self.refuse_all(cx, ErrorCode::CoordinatorNotAvailable);
                if !self.resumes {
                    self.store = Store::Gone;
                }
            }
        }
    }

    /// Another broker has the right to publish: nothing here is true any more.
    fn fenced(&mut self, cx: &mut Cx<'_>, during: &'static str) {
        cx.note(&self.id, TxnEvent::Fenced { during });
        self.drop_entry(cx);
    }

    /// A change is over.
    pub(super) fn changed(&mut self, cx: &mut Cx<'_>, outcome: Outcome) {
        let error = match outcome {
            Outcome::Done => return self.written(cx),
            Outcome::Fenced(during) => return self.fenced(cx, during),
            Outcome::Failed(error) => error,
            Outcome::InDoubt(error) => {
                // Only the file itself can say what happened, and only under a claim of another
                // name, in which what is late can't happen any more.
                self.store = Store::Unloaded;
                self.resumes = true;
                error
            }
        };
        self.note_failure(cx, &error);
        let Writing { answer, why, .. } = self.writing.take().expect("a change was under way");
        if let Some((ticket, answer)) = answer {
            let refused = answer.with_error(ErrorCode::CoordinatorNotAvailable);
            cx.answer(&self.id, ticket, refused);
        }
        if why != Why::Asked {
            self.retry_at = Some(cx.turn.now + cx.core.config.txn.retry_backoff);
        }
        self.load(cx);
        self.go_on(cx);
    }

    /// The change is on the volume: memory follows, then whoever waits hears of it.
    fn written(&mut self, cx: &mut Cx<'_>) {
        let Writing { answer, next, why } = self.writing.take().expect("a change was under way");
        let Store::Ready { state, .. } = &mut self.store else {
            unreachable!("only under a claim is anything written")
        };
        *state = next;
        self.retry_at = None;
        if let Some((ticket, answer)) = answer {
            cx.answer(&self.id, ticket, answer);
        }
        if let Some(state) = self.state() {
            let (transaction, phase) = (state.transaction, state.phase);
            if why == Why::Overdue {
                cx.note(&self.id, TxnEvent::TimedOut { transaction });
            }
            if let Some(commit) = phase.prepared() {
                cx.note(&self.id, TxnEvent::Prepared { transaction, commit });
            }
            if why == Why::Delivered {
                cx.note(&self.id, TxnEvent::Completed { transaction, phase: phase.name() });
            }
        }
        self.go_on(cx);
        if why == Why::Expired {
            cx.note(&self.id, TxnEvent::Expired);
            if self.is_idle() {
                self.drop_entry(cx);
            }
        }
    }

    /// A check of the claim is over.
    pub(super) fn checked(&mut self, cx: &mut Cx<'_>, outcome: Outcome) {
        let Some(checking) = self.checking.take() else { return };
        let error = match outcome {
            // It stood after these answers were made, whatever it was given up for since.
            Outcome::Done => ErrorCode::None,
            Outcome::Fenced(during) => {
                let is_held =
                    matches!(&self.store, Store::Ready { claim, .. } if claim.is(&checking.claim));
                if is_held {
                    self.checking = Some(checking);
                    return self.fenced(cx, during);
                }
                ErrorCode::CoordinatorNotAvailable
            }
            Outcome::Failed(error) | Outcome::InDoubt(error) => {
                self.note_failure(cx, &error);
                ErrorCode::CoordinatorNotAvailable
            }
        };
        for it in checking.answers {
            let answer = if error.is_none() { it.answer } else { it.request.refused(error) };
            cx.answer(&self.id, it.ticket, answer);
        }
        self.go_on(cx);
    }

    fn note_failure(&self, cx: &mut Cx<'_>, error: &VolumeError) {
        let (operation, reason) = (error.operation, error.source.to_string());
        cx.note(&self.id, TxnEvent::VolumeFailed { operation, reason });
    }
}
