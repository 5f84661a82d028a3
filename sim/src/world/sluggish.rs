//! Callers that are woken and do not run at once, as on a machine that has more threads than cores.
//!
//! Time stands still until all of a broker's tasks are at rest, so without this no time would pass
//! between an answer and its caller.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use kaas_coordinator::{
    api::Request,
    ports::{Clock, Host},
};
use tokio::sync::oneshot;

use crate::{plan::Plan, seed::Stream};

/// How many of a hundred callers are sluggish; one of these is drawn for each run.
const SLUGGISH: [u32; 4] = [0, 0, 1, 5];
/// By how much, in microseconds: some for longer than a view is fresh.
const LONGEST: u64 = 4_000_000;
/// Lists are few, and what they name is many groups': of a run's they are all that often.
const LISTS: u32 = 5;
const LIST_LONGEST: u64 = 7_000_000;

/// Who is sluggish in a run.
#[derive(Debug)]
pub(super) struct Sluggish {
    stream: Stream,
    percent: u32,
}

impl Sluggish {
    pub(super) fn new(plan: &Plan) -> Self {
        let has_faults = plan.steps.iter().any(|step| step.action.is_fault());
        let mut stream = Stream::new(plan.seed, "sluggish callers", 0);
        let percent = *stream.pick(&SLUGGISH);
        Self { stream, percent: if has_faults && !plan.is_fixed() { percent } else { 0 } }
    }

    /// How late the caller of a request is, in microseconds; 0 for most.
    pub(super) fn lateness(&mut self, request: &Request) -> u64 {
        let is_list = matches!(request, Request::ListGroups { .. });
        let percent = if is_list { self.percent * LISTS } else { self.percent };
        if !speaks_for_no_generation(request) || !self.stream.percent(percent) {
            return 0;
        }
        if is_list {
            return self.stream.between(1_000, LIST_LONGEST);
        }
        let mut top = 1_000;
        while top < LONGEST && self.stream.percent(80) {
            top *= 2;
        }
        self.stream.between(top / 2, top.min(LONGEST))
    }
}

/// Only a success that a broker emits tells in which reign it was made; one that is late may be of the
/// reign before, which cannot be seen.
fn speaks_for_no_generation(request: &Request) -> bool {
    match request {
        Request::OffsetFetch(_) | Request::DescribeGroups { .. } | Request::ListGroups { .. } => {
            true
        }
        Request::OffsetCommit(it) => it.member_id.is_empty(),
        Request::FindCoordinator { .. }
        | Request::JoinGroup(_)
        | Request::SyncGroup(_)
        | Request::Heartbeat(_)
        | Request::LeaveGroup(_)
        | Request::OffsetDelete(_)
        | Request::DeleteGroups { .. }
        | Request::InitProducerId(_)
        | Request::AddPartitionsToTxn(_)
        | Request::AddOffsetsToTxn(_)
        | Request::EndTxn(_)
        | Request::TxnOffsetCommit(_)
        | Request::VerifyTxn(_)
        | Request::TxnMarker(_)
        | Request::TxnOutcome(_) => false,
    }
}

/// A call that says when it has begun and, once it was woken, is polled late.
pub(super) struct Late<'a, F, H> {
    call: Pin<Box<F>>,
    host: &'a H,
    begun: Option<oneshot::Sender<()>>,
    lateness: Duration,
    nap: Nap<'a>,
}

enum Nap<'a> {
    /// It has not been polled yet.
    Before,
    /// It waits to be woken.
    Awake,
    Asleep(Pin<Box<dyn Future<Output = ()> + Send + 'a>>),
    Over,
}

impl<'a, F: Future, H: Host> Late<'a, F, H> {
    pub(super) fn new(
        call: F,
        host: &'a H,
        begun: Option<oneshot::Sender<()>>,
        lateness: u64,
    ) -> Self {
        let lateness = Duration::from_micros(lateness);
        Self { call: Box::pin(call), host, begun, lateness, nap: Nap::Before }
    }
}

impl<F: Future, H: Host> Future for Late<'_, F, H> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let it = &mut *self;
        match &mut it.nap {
            Nap::Before => {
                it.nap = Nap::Awake;
                let polled = it.call.as_mut().poll(cx);
                // The next may be gone.
                it.begun.take().map(|begun| begun.send(()).ok());
                return polled;
            }
            Nap::Awake if it.lateness.is_zero() => it.nap = Nap::Over,
            Nap::Awake => {
                let clock = it.host.clock();
                let until = clock.now() + it.lateness;
                let mut nap = Box::pin(clock.sleep_until(until));
                // Its first poll sets the timer.
                let _ = nap.as_mut().poll(cx);
                it.nap = Nap::Asleep(nap);
                return Poll::Pending;
            }
            Nap::Asleep(nap) => {
                ready!(nap.as_mut().poll(cx));
                it.nap = Nap::Over;
            }
            Nap::Over => {}
        }
        it.call.as_mut().poll(cx)
    }
}
