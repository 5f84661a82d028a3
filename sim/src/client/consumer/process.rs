//! The process of a member: it dies, and another takes its place.
//!
//! A new process of a static member has its instance id, and as a rule not its member id. A process
//! that ends with an error that is another's fault, as when a duplicate fences it, is started again
//! by its supervisor.

use kaas_coordinator::api::ErrorCode;

use super::{Consumer, Phase};
use crate::client::{Cx, Send};

/// How long a supervisor waits before it starts a process again, in microseconds.
pub const RESTART: u64 = 3_000_000;

impl Consumer {
    /// Gives it the instance id of a static member.
    pub fn with_instance(mut self, instance: Option<&str>) -> Self {
        self.instance = instance.map(Into::into);
        self
    }

    /// Names the errors after which its supervisor starts it again.
    pub fn with_excuses(mut self, excused: Vec<ErrorCode>) -> Self {
        self.excused = excused;
        self
    }

    /// A second process of a static member, which does not run yet.
    pub fn as_duplicate(mut self) -> Self {
        self.is_duplicate = true;
        self.phase = Phase::Down;
        self
    }

    /// The application ends, and begins after a while with nothing but its names.
    pub(super) fn begin_anew(&mut self, cx: &mut Cx<'_>, after: u64) {
        let start = cx.now.saturating_add(after);
        self.rpc.forget_everything(cx, start);
        if let Some(it) = &mut self.transactions {
            it.begin_anew(cx, start);
        }
        self.forget_member();
        self.rejoin(cx, after);
    }

    /// Whether it has a process.
    pub fn is_up(&self) -> bool {
        !matches!(self.phase, Phase::Down | Phase::Gone)
    }

    /// Whether it counts among the members of its group.
    pub fn counts(&self) -> bool {
        match self.phase {
            Phase::Gone => false,
            Phase::Down => !self.is_duplicate,
            Phase::Out
            | Phase::Joining
            | Phase::Syncing
            | Phase::Fetching
            | Phase::Consuming
            | Phase::Failed(_) => true,
        }
    }

    /// Whether it was told that another has its instance id, since it was asked last.
    pub fn take_fenced(&mut self) -> bool {
        std::mem::take(&mut self.is_fenced)
    }

    /// Its process dies and begins anew after so many microseconds, perhaps with its member id.
    /// Its connections are for the caller to close.
    pub fn crash(&mut self, cx: &mut Cx<'_>, down: u64, keeps_id: bool) {
        let member_id = self.member_id.clone();
        self.forget_everything(cx, down);
        if keeps_id {
            self.member_id = member_id;
        }
        cx.record.tell(cx.name, || "crashes".to_owned());
    }

    /// Whether it has a process that dies only if it is made to.
    pub fn may_crash(&self) -> bool {
        let is_dead = matches!(self.phase, Phase::Failed(error) if !self.excused.contains(&error));
        self.is_up() && !is_dead
    }

    /// Its process dies for good, if there is one. Its connections are for the caller to close.
    pub fn die(&mut self, cx: &mut Cx<'_>) {
        if self.is_up() {
            self.forget_everything(cx, u64::MAX);
            self.phase = Phase::Down;
            cx.record.tell(cx.name, || "its process dies".to_owned());
        }
    }

    /// A process begins where there is none.
    pub fn start(&mut self, cx: &mut Cx<'_>) {
        if self.phase == Phase::Down {
            self.forget_everything(cx, 0);
            self.is_fenced = false;
            cx.record.tell(cx.name, || "a process starts".to_owned());
            self.wake(cx);
        }
    }

    fn forget_everything(&mut self, cx: &mut Cx<'_>, down: u64) {
        self.restart_at = u64::MAX;
        self.begin_anew(cx, down);
    }

    /// An error ends the process.
    pub(super) fn fail(&mut self, cx: &mut Cx<'_>, error: ErrorCode) {
        cx.record.tell(cx.name, || format!("fails: {error}"));
        self.is_fenced |= error == ErrorCode::FencedInstanceId;
        self.rejoin(cx, 0);
        self.join_at = u64::MAX;
        self.phase = Phase::Failed(error);
        if self.excused.contains(&error) {
            self.restart_at = cx.now + RESTART;
        }
    }

    /// Starts a new process in place of one that has ended, when it is time to.
    pub(super) fn supervise(&mut self, cx: &mut Cx<'_>) {
        if self.restart_at <= cx.now && matches!(self.phase, Phase::Failed(_)) {
            for broker in 0..cx.brokers {
                cx.sends.push(Send::Close { broker });
            }
            self.phase = Phase::Down;
            self.start(cx);
        }
    }
}
