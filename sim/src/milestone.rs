//! Milestones: situations that a suite of runs must have reached, or it has tested too little.
//!
//! A promise that was never in danger was not tested. Each milestone is a situation that the outside
//! can see, counted wherever it happens; `run` fails as vacuous when a suite of 2,000 seeds misses one
//! that is not marked rare.

macro_rules! milestones {
    ($($(#[$rare:ident])? $name:ident $text:literal $about:literal,)*) => {
        /// A situation that a suite must have reached.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each says what it is in `about`")]
        pub enum Milestone {
            $($name,)*
        }

        impl Milestone {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// What it is.
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$name => $about,)*
                }
            }

            /// Whether a suite may miss it.
            pub fn is_rare(self) -> bool {
                match self {
                    $(Self::$name => milestones!(@rare $($rare)?),)*
                }
            }
        }
    };
    (@rare rare) => { true };
    (@rare) => { false };
}

milestones! {
    MomentCame "moment-came" "a step that waited for a moment began",
    ViewApplied "view-applied" "a broker applied a newer view",
    ViewOlderRefused "view-older-refused" "a broker read a view older than its own and kept its own",
    ViewBehindLeaseRefused "view-behind-lease-refused" "a broker read the view of a deposed controller",
    ViewTwinRefused "view-twin-refused" "a broker read another view of the version it had applied",
    ViewUnreadable "view-unreadable" "a broker could not read or understand assignment.json",
    ViewStale "view-stale" "a broker stopped serving since its view was not confirmed",
    ViewFresh "view-fresh" "a stale view was confirmed again",
    BootServed "boot-served" "a broker answered with success before its first view",
    FallbackUsed "fallback-used" "a group was served by the alternate of a dead preferred broker",
    ExplicitUsed "explicit-used" "a group was served by the broker of an explicit entry, against the hash",
    Loaded "loaded" "a broker took a group over and found offsets",
    LoadedNothing "loaded-nothing" "a broker took a group over that has no file",
    LoadedPending "loaded-pending" "a broker took a group over with offsets that wait for the end of a transaction",
    ClaimRemoved "claim-removed" "a take-over removed the claim of another owner",
    FencedAtTakeOver "fenced-at-take-over" "a take-over met a newer claim or lost its own",
    FencedAtWrite "fenced-at-write" "a publish failed since the claim was gone when it staged its write",
    #[rare] FencedAtSync "fenced-at-sync" "a publish failed since the claim was gone when it synced",
    FencedAtRename "fenced-at-rename" "a publish failed since the claim was gone at the rename",
    FencedAtRead "fenced-at-read" "a read was refused since the claim was gone",
    Batched "batched" "one write published several commits",
    DroppedByDiff "dropped-by-diff" "the difference of two views took a group away",
    DroppedBySweep "dropped-by-sweep" "only the orphan sweep found a group that is another broker's",
    DroppedWithParked "dropped-with-parked" "a group was lost while joins or syncs were parked",
    PutAway "put-away" "an empty group that nobody asked for left memory",
    StateEmpty "state-empty" "a group became Empty",
    StatePreparing "state-preparing" "a group began to rebalance",
    StateCompleting "state-completing" "a generation began",
    StateStable "state-stable" "a group became Stable",
    SessionExpired "session-expired" "a member was removed since its session ended",
    RebalanceExpired "rebalance-expired" "a member was removed since it did not rejoin in time",
    SyncExpired "sync-expired" "a member was removed since it did not sync in time",
    AnsweredTimedOut "answered-timed-out" "a commit was answered REQUEST_TIMED_OUT",
    AnsweredLoading "answered-loading" "a request was answered COORDINATOR_LOAD_IN_PROGRESS",
    AnsweredNotAvailable "answered-not-available" "a request was answered COORDINATOR_NOT_AVAILABLE",
    AnsweredNotCoordinator "answered-not-coordinator" "a request was answered NOT_COORDINATOR",
    AnsweredIllegalGeneration "answered-illegal-generation" "a request was answered ILLEGAL_GENERATION",
    AnsweredUnknownMember "answered-unknown-member" "a request was answered UNKNOWN_MEMBER_ID",
    AnsweredRebalance "answered-rebalance" "a request was answered REBALANCE_IN_PROGRESS",
    AnsweredMemberIdRequired "answered-member-id-required" "a join was told its member id first",
    AnsweredUnstable "answered-unstable" "a fetch was told that an offset is being committed",
    CommitBeforeRejoin "commit-before-rejoin" "a member committed while its group was rebalancing",
    GroupDeleted "group-deleted" "a group was deleted",
    OddGroupId "odd-group-id" "a group whose id is no file name committed",
    LongGroupId "long-group-id" "a group whose id is too long for a file name committed",
    VolumeFailed "volume-failed" "a volume operation failed",
    VolumeFull "volume-full" "a volume operation found no space",
    VolumeStale "volume-stale" "a volume operation met a stale file handle",
    VolumeSlow "volume-slow" "a volume operation was slow",
    ChangeInDoubt "change-in-doubt" "a publish failed at or behind its rename and the file was read again",
    CallerSluggish "caller-sluggish" "a request was to run on late when its answer was there",
    LurkingOperation "lurking-operation" "an operation that had failed happened right behind the next one beside it",
    LateOperation "late-operation" "an operation happened although its broker was dead, or had been told that it failed",
    UnsyncedWriteLost "unsynced-write-lost" "a broker died with a write that was not synced",
    UnsyncedEntriesLost "unsynced-entries-lost" "the volume failed over and lost directory entries",
    FileRotted "file-rotted" "an offset file became unreadable for good",
    StoppedInOperation "stopped-in-operation" "a broker stopped in the middle of a volume operation",
    BrokerCameBack "broker-came-back" "a broker was started again",
    BrokerClosedInOrder "broker-closed-in-order" "a broker gave its claims back and closed",
    BrokerDiedHoldingGroups "broker-died-holding-groups" "a broker died that held groups",
    BrokerDiedSilently "broker-died-silently" "a broker died and its peers saw nothing",
    FormerFileRead "former-file-read" "the current release read an offset file of the former",
    CurrentFileRewritten "current-file-rewritten" "the former release rewrote an offset file of the current",
    PausedBrokerWoke "paused-broker-woke" "a paused broker went on",
    StarvedBrokerAnswered "starved-broker-answered" "a broker that gets little of its processor's time answered with success",
    RequestDied "request-died" "the task of a request died in the middle",
    PeerRequestDied "peer-request-died" "the task of a request between brokers died in the middle",
    ClockJumped "clock-jumped" "a broker's clock jumped over a deadline",
    ClockStoodStill "clock-stood-still" "a deadline did not come since a broker's clock stood still",
    PausedAnswerRefused "paused-answer-refused" "a broker that woke refused what it would have answered",
    ScaledOut "scaled-out" "a broker was added to the full set",
    ScaledIn "scaled-in" "a broker was taken out of the full set",
    HealthyBrokerFlapped "healthy-broker-flapped" "the controller believed a healthy broker dead",
    ControllerElected "controller-elected" "a new controller took its time to publish",
    VersionsBeganAnew "versions-began-anew" "a new controller's versions began with 1 again",
    EntryNamesTheDead "entry-names-the-dead" "a view was published with an entry for a broker that is not alive",
    DeposedControllerWrote "deposed-controller-wrote" "a deposed controller wrote late",
    TwinControllersWrote "twin-controllers-wrote" "two controllers of one epoch wrote different views",
    DamagedFileRead "damaged-file-read" "a broker read assignment.json while it was damaged",
    LaggingRead "lagging-read" "a broker read an assignment.json that had been replaced",
    OldLeaseRead "old-lease-read" "a broker was told a controller lease that had been taken since",
    MessageStalled "message-stalled" "a cut kept a message from arriving",
    StalledMessageDelivered "stalled-message-delivered" "a message arrived after a cut had healed",
    BrokerCutOff "broker-cut-off" "a broker stayed out of reach when all else had healed",
    ConnectBlackHoled "connect-black-holed" "a connection hung while it was opened",
    MarkerSent "marker-sent" "the end of a transaction reached the coordinator of a group",
    PeerMessageStraggled "peer-message-straggled" "a message between brokers took so long that others overtook it",
    MarkerArrivedTwice "marker-arrived-twice" "a marker was sent a second time though the first had gone",
    MarkerRefused "marker-refused" "a marker met a broker that could not take it, and was to be sent again",
    #[rare] MarkerOutlivedItsCoordinator "marker-outlived-its-coordinator" "a marker arrived whose sender was dead by then",
    TxnPrepared "txn-prepared" "the decision on a transaction was durable",
    TxnTakenOverPrepared "txn-taken-over-prepared" "a coordinator found a transaction between its decision and its last marker",
    TxnTakenOverOpen "txn-taken-over-open" "a coordinator found an open transaction",
    TxnResumed "txn-resumed" "a coordinator found a transaction that nobody asked for",
    TxnTimedOut "txn-timed-out" "a transaction was open for too long and aborted",
    TxnFenced "txn-fenced" "a coordinator of transactions lost its claim",
    TxnVolumeFailed "txn-volume-failed" "the volume failed under the state of a transaction",
    ProducerIdsTaken "producer-ids-taken" "a broker took a block of producer ids",
    TxnCommitted "txn-committed" "a client was told that its transaction committed",
    TxnAborted "txn-aborted" "a client was told that its transaction aborted",
    TxnLostItsMember "txn-lost-its-member" "a transaction's offsets were refused since its client is not of the generation",
    ProducerFenced "producer-fenced" "a client was told that another is this producer now",
    EndTxnUnanswered "end-txn-unanswered" "a client asked for the end of its transaction and heard nothing",
    ClientCrashed "client-crashed" "a client died and began anew",
    ConnectionReset "connection-reset" "a client saw its connection reset",
    OldConnectionRefused "old-connection-refused" "a request came over a connection to a life of its broker that was over",
    ClientVanishedWhileWaiting "client-vanished-while-waiting" "a client's machine died without a word while a broker owed it an answer",
    ClientGoneWhileWaiting "client-gone-while-waiting" "a client hung up while the broker owed it an answer",
    ClientFroze "client-froze" "a client stood still and woke up later",
    StaticMemberReplaced "static-member-replaced" "a static member came back under another id and its generation went on",
    StaticLeaderSkipped "static-leader-skipped" "a static leader came back and was told to leave the assignment as it is",
    AnsweredFencedInstance "answered-fenced-instance" "a request was answered FENCED_INSTANCE_ID",
    AnsweredInconsistent "answered-inconsistent-protocol" "a join was answered INCONSISTENT_GROUP_PROTOCOL",
    AnsweredGroupFull "answered-group-full" "a join was answered GROUP_MAX_SIZE_REACHED",
    AnsweredInvalidSession "answered-invalid-session" "a join was answered INVALID_SESSION_TIMEOUT",
    ParkedJoinSuperseded "parked-join-superseded" "a member joined again while it waited, and the first join was answered",
    ParkedJoinAbandoned "parked-join-abandoned" "a member hung up while it waited for the answer to its join",
    LeftWhileParked "left-while-parked" "a member left while it waited for the answer to its join",
    MemberIdWasted "member-id-wasted" "a client took a member id and did not come back with it",
    UnsyncedRemoved "unsynced-removed" "a member that never synced was told that it is none any more",
    StragglerRemoved "straggler-removed" "a member that did not rejoin was told that it is none any more",
    LateCommitRefused "late-commit-refused" "a member woke up late and its commit was refused",
    SubscriptionChanged "subscription-changed" "a member changed its subscription in mid-rebalance and got a new generation",
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Milestone;

    #[test]
    fn names_are_unique_and_explained() {
        let names: BTreeSet<_> = Milestone::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), Milestone::ALL.len());
        for (at, it) in Milestone::ALL.iter().enumerate() {
            assert_eq!(*it as usize, at);
            assert!(!it.about().is_empty() && !it.about().ends_with('.'), "{}", it.name());
        }
    }
}
