//! Random histories of transactions: those of an honest implementation are accepted, and each of
//! the ways to make it dishonest is found.
//!
//! Two clients take turns as producer of one transactional id, a third has another. Each takes in
//! the records of its group's partition 0, and writes here and there besides; others commit, delete
//! and fetch. Requests take effect at any time between being sent and being answered; one whose
//! client has given up, at any later time or never.

use super::reference::{Effect, MUTANTS, Mutant, Place, Producer, Reference};
use crate::story::name;
use model::{Event, Limits, Micros, Model, Name, Outcome, Promise, Report, What};

const HONEST: u64 = 20_000;
const DISHONEST: u64 = 3000;
const STEPS: u32 = 600;

/// Numbers drawn from a seed (splitmix64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let end = u64::try_from(end).expect("usize is no wider");
        usize::try_from((drawn ^ (drawn >> 31)) % end).expect("it is below a usize")
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

#[derive(Debug, Clone, Copy)]
enum Request {
    Init { id: usize },
    Write { producer: Producer, txn: u64, place: Place, offset: i64, input: bool },
    End { producer: Producer, txn: u64, commit: bool, effect: Option<Effect> },
    Commit { place: Place, offset: i64 },
    Delete { place: Place },
    Fetch { place: Place, stable: bool },
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Is(Outcome),
    Ready(Option<Producer>),
    Value(Option<(i64, u64)>),
    Refused,
}

/// A request on its way, and its answer once it has taken effect.
#[derive(Debug)]
struct Flight {
    client: usize,
    op: u64,
    request: Request,
    answer: Option<Answer>,
    /// Its client has given up.
    loose: bool,
}

/// What a producing client does next.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// It asks who it is.
    Fresh,
    /// It asks where to go on.
    Lost(Producer),
    /// It begins a transaction with the records from there.
    Ready(Producer, i64),
    /// It has taken in these records; `sure`: the offset behind them was acknowledged.
    Within { producer: Producer, txn: u64, from: i64, to: i64, sure: bool },
    /// It has asked for the end, and did not hear of it.
    Ending { producer: Producer, txn: u64, commit: bool, from: i64, to: i64 },
}

/// Clients 0 and 1 produce for id 0, client 2 for id 1; the others do the rest.
const PRODUCERS: usize = 3;
const CLIENTS: usize = 7;

struct World {
    draws: Draws,
    reference: Reference,
    stages: [Stage; PRODUCERS],
    busy: [bool; CLIENTS],
    flights: Vec<Flight>,
    model: Model,
    now: u64,
    ops: u64,
    txns: u64,
}

fn id_of(client: usize) -> usize {
    usize::from(client == 2)
}

fn group_name(group: usize) -> Name {
    name(["g", "h"][group])
}

fn partition_name(partition: usize) -> Name {
    name(["in/0", "t/1", "t/2"][partition])
}

fn client_name(client: usize) -> Name {
    name(["c0", "c1", "c2", "c3", "c4", "c5", "c6"][client])
}

fn id_name(id: usize) -> Name {
    name(["pay", "bill"][id])
}

impl World {
    fn new(seed: u64, mutant: Option<Mutant>) -> World {
        let mut draws = Draws(seed);
        let reference = Reference::new(mutant, draws.one_in(2));
        World {
            draws,
            reference,
            stages: [Stage::Fresh; PRODUCERS],
            busy: [false; CLIENTS],
            flights: Vec::new(),
            model: Model::new(Limits::default()),
            now: 0,
            ops: 0,
            txns: 0,
        }
    }

    fn see(&mut self, what: What) {
        self.now += 1;
        self.model.observe(&Event { at: Micros::from_millis(self.now), what });
    }

    fn run(mut self) -> Report {
        for _ in 0..STEPS {
            match self.draws.below(10) {
                0..4 => self.someone_asks(),
                4..7 => self.something_takes_effect(),
                7..9 => self.something_is_answered(),
                _ => self.a_marker_arrives(),
            }
        }
        self.comes_to_rest();
        self.model.finish()
    }

    fn someone_asks(&mut self) {
        let client = self.draws.below(CLIENTS + PRODUCERS) % CLIENTS;
        if self.busy[client] {
            return;
        }
        let request = if client < PRODUCERS { self.produces(client) } else { self.others() };
        self.sends(client, request);
    }

    /// Some other client's next request. Inputs are only fetched.
    fn others(&mut self) -> Request {
        let group = self.draws.below(2);
        let place = (group, 1 + self.draws.below(2));
        match self.draws.below(12) {
            0..3 => Request::Commit { place, offset: i64::from(self.draws.one_in(2)) },
            3 if self.draws.one_in(6) => Request::Delete { place: (group, 2) },
            _ => {
                Request::Fetch { place: (group, self.draws.below(3)), stable: self.draws.one_in(2) }
            }
        }
    }

    /// A producing client's next request.
    fn produces(&mut self, client: usize) -> Request {
        let group = id_of(client);
        match self.stages[client] {
            // Two that keep fencing each other would get nowhere.
            Stage::Fresh if !self.draws.one_in(5) => self.others(),
            Stage::Fresh => Request::Init { id: group },
            _ if self.draws.one_in(60) => Request::Init { id: group },
            Stage::Lost(_) => Request::Fetch { place: (group, 0), stable: true },
            Stage::Ready(producer, from) => {
                self.txns += 1;
                let (txn, Producer { id, epoch }) = (self.txns, producer);
                let (id, client_name, number) =
                    (id_name(id), client_name(client), producer.number());
                self.see(What::TxnBegun { txn, id, client: client_name, producer: number, epoch });
                self.stages[client] = Stage::Within { producer, txn, from, to: from, sure: true };
                self.writes(client, producer, txn, from)
            }
            Stage::Within { producer, txn, from, to, sure } => match self.draws.below(3) {
                0 | 1 if sure => self.writes(client, producer, txn, to),
                _ => {
                    let commit = sure && !self.draws.one_in(5);
                    self.stages[client] = Stage::Ending { producer, txn, commit, from, to };
                    self.ends(client)
                }
            },
            Stage::Ending { .. } => self.ends(client),
        }
    }

    /// The client takes in more records, or writes somewhere else.
    fn writes(&mut self, client: usize, producer: Producer, txn: u64, to: i64) -> Request {
        if self.draws.one_in(2) {
            let place = (self.draws.below(2), 1 + self.draws.below(2));
            return Request::Write { producer, txn, place, offset: 7, input: false };
        }
        let offset = to + 1 + i64::from(self.draws.one_in(2));
        if let Stage::Within { to, sure, .. } = &mut self.stages[client] {
            (*to, *sure) = (offset, false);
        }
        Request::Write { producer, txn, place: (id_of(client), 0), offset, input: true }
    }

    fn ends(&mut self, client: usize) -> Request {
        let Stage::Ending { producer, txn, commit, from, to } = self.stages[client] else {
            return Request::Init { id: id_of(client) };
        };
        let effect = Effect { txn, group: id_of(client), from, to };
        Request::End { producer, txn, commit, effect: (to > from).then_some(effect) }
    }

    fn sends(&mut self, client: usize, request: Request) {
        self.ops += 1;
        let (op, named) = (self.ops, client_name(client));
        let place = |(group, partition): Place| (group_name(group), partition_name(partition));
        match request {
            Request::Init { .. } => {}
            Request::Write { txn, place: at, offset, .. } => {
                let (group, partition) = place(at);
                let write = op;
                self.see(What::TxnCommitInvoked { op, txn, group, partition, write, offset });
            }
            Request::End { txn, commit, .. } => self.see(What::TxnEndInvoked { txn, commit }),
            Request::Commit { place: at, offset } => {
                let (group, partition) = place(at);
                let (client, write) = (named, op);
                self.see(What::CommitInvoked { op, client, group, partition, write, offset });
            }
            Request::Delete { place: at } => {
                let (group, partition) = place(at);
                self.see(What::DeleteInvoked { op, client: named, group, partition });
            }
            Request::Fetch { place: at, stable } => {
                let (group, partition) = place(at);
                self.see(What::FetchInvoked { op, client: named, group, partition });
                if stable {
                    self.see(What::FetchIsStable { op });
                }
            }
        }
        self.busy[client] = true;
        self.flights.push(Flight { client, op, request, answer: None, loose: false });
    }

    fn something_takes_effect(&mut self) {
        if self.flights.is_empty() {
            return;
        }
        let which = self.draws.below(self.flights.len());
        if self.flights[which].loose && self.draws.one_in(3) {
            self.flights.remove(which);
            return;
        }
        let Flight { request, op, answer, .. } = &mut self.flights[which];
        if answer.is_none() {
            *answer = Some(take_effect(&mut self.reference, *request, *op));
        }
        if self.flights[which].loose {
            self.flights.remove(which);
        }
    }

    fn something_is_answered(&mut self) {
        let waiting = |flight: &Flight| !flight.loose;
        let waiting: Vec<usize> =
            (0..self.flights.len()).filter(|&which| waiting(&self.flights[which])).collect();
        if waiting.is_empty() {
            return;
        }
        let which = waiting[self.draws.below(waiting.len())];
        let gives_up = self.draws.one_in(12);
        let Flight { client, op, request, answer, loose } = &mut self.flights[which];
        let (client, op, request) = (*client, *op, *request);
        let answer = match (*answer, gives_up) {
            (Some(answer), false) => answer,
            (_, true) => Answer::Is(Outcome::Unknown),
            (None, false) => return,
        };
        if gives_up {
            *loose = true;
        } else {
            self.flights.remove(which);
        }
        self.busy[client] = false;
        self.hears(client, (op, request), answer);
    }

    fn hears(&mut self, client: usize, (op, request): (u64, Request), answer: Answer) {
        match (request, answer) {
            (Request::Fetch { .. }, Answer::Value(value)) => self.see(What::Fetched { op, value }),
            (Request::Fetch { .. }, Answer::Refused) => self.see(What::FetchUnstable { op }),
            (Request::Fetch { .. }, _) => self.see(What::FetchFailed { op }),
            (Request::End { txn, commit, .. }, Answer::Is(outcome)) => {
                self.see(What::TxnEndReturned { txn, commit, outcome });
            }
            (Request::Init { .. }, Answer::Ready(Some(producer))) => {
                let (id, client) = (id_name(producer.id), client_name(client));
                let (producer, epoch) = (producer.number(), producer.epoch);
                self.see(What::ProducerReady { id, client, producer, epoch, anew: true });
            }
            (_, Answer::Is(outcome)) if !matches!(request, Request::Init { .. }) => {
                self.see(What::Returned { op, outcome });
            }
            _ => {}
        }
        if client < PRODUCERS {
            self.stages[client] = self.next_stage(client, request, answer);
        }
    }

    fn next_stage(&mut self, client: usize, request: Request, answer: Answer) -> Stage {
        let stage = self.stages[client];
        match (request, answer, stage) {
            (Request::Init { .. }, Answer::Ready(Some(producer)), _) => Stage::Lost(producer),
            (Request::Init { .. }, ..) => Stage::Fresh,
            (Request::Fetch { .. }, Answer::Value(value), Stage::Lost(producer)) => {
                Stage::Ready(producer, value.map_or(0, |(offset, _)| offset))
            }
            (
                Request::Write { input, .. },
                Answer::Is(outcome),
                Stage::Within { producer, txn, from, to, sure },
            ) => match outcome {
                Outcome::Refused if self.draws.one_in(2) => Stage::Fresh,
                Outcome::Ok | Outcome::Refused | Outcome::Unknown => {
                    let sure = if input { outcome == Outcome::Ok } else { sure };
                    Stage::Within { producer, txn, from, to, sure }
                }
            },
            (
                Request::End { commit, .. },
                Answer::Is(outcome),
                Stage::Ending { producer, txn, from, to, .. },
            ) => match outcome {
                Outcome::Ok if commit => Stage::Ready(producer, to),
                Outcome::Ok => Stage::Lost(producer),
                Outcome::Refused | Outcome::Unknown if self.draws.one_in(4) => Stage::Fresh,
                Outcome::Refused | Outcome::Unknown if self.draws.one_in(4) => {
                    Stage::Ending { producer, txn, commit: false, from, to }
                }
                Outcome::Refused | Outcome::Unknown => stage,
            },
            _ => stage,
        }
    }

    fn a_marker_arrives(&mut self) {
        let markers = self.reference.markers();
        if markers == 0 {
            return;
        }
        let which = self.draws.below(markers);
        if let Some(Effect { txn, group, from, to }) = self.reference.deliver(which) {
            let (group, partition) = (group_name(group), partition_name(0));
            self.see(What::EffectCounted { txn, group, partition, from, to });
        }
    }

    /// What is open is aborted, all markers arrive, and everybody looks.
    fn comes_to_rest(&mut self) {
        self.flights.clear();
        for id in 0..2 {
            self.reference.init(id);
        }
        while self.reference.markers() > 0 {
            self.a_marker_arrives();
        }
        for place in (0..2).flat_map(|group| (0..3).map(move |partition| (group, partition))) {
            self.ops += 1;
            let op = self.ops;
            let (group, partition) = (group_name(place.0), partition_name(place.1));
            let client = client_name(CLIENTS - 1);
            let (of, at) = (group.clone(), partition.clone());
            self.see(What::FetchInvoked { op, client, group: of, partition: at });
            self.see(What::FetchIsStable { op });
            let Ok(value) = self.reference.fetch(place, true) else {
                self.see(What::FetchUnstable { op });
                continue;
            };
            let value = value.map(|value| (value.offset, value.write));
            self.see(What::Fetched { op, value });
            if place.1 == 0 {
                let upto = value.map(|(offset, _)| offset);
                self.see(What::ProcessedAtEnd { group, partition, upto });
            }
        }
    }
}

fn take_effect(reference: &mut Reference, request: Request, op: u64) -> Answer {
    match request {
        Request::Init { id } => Answer::Ready(reference.init(id)),
        Request::Write { producer, txn, place, offset, .. } => {
            Answer::Is(reference.write(producer, txn, place, (offset, op)))
        }
        Request::End { producer, txn, commit, effect } => {
            Answer::Is(reference.end(producer, txn, commit, effect))
        }
        Request::Commit { place, offset } => {
            reference.commit(place, (offset, op));
            Answer::Is(Outcome::Ok)
        }
        Request::Delete { place } => {
            reference.delete(place);
            Answer::Is(Outcome::Ok)
        }
        Request::Fetch { place, stable } => match reference.fetch(place, stable) {
            Ok(value) => Answer::Value(value.map(|value| (value.offset, value.write))),
            Err(()) => Answer::Refused,
        },
    }
}

#[test]
fn an_honest_implementation_is_accepted() {
    let mut checked = 0;
    for seed in 0..HONEST {
        let report = World::new(seed, None).run();
        assert_eq!(report.violations, [], "seed {seed}");
        assert_eq!(report.undecided, 0, "seed {seed}");
        checked += report.checked[&Promise::TxnIsolation];
    }
    assert!(checked / HONEST > 15, "a history is compared {} times", checked / HONEST);
}

#[test]
fn every_dishonest_one_is_found() {
    for mutant in MUTANTS {
        let found = (0..DISHONEST).find(|&seed| {
            let report = World::new(seed, Some(mutant)).run();
            report.violations.iter().any(|found| found.promise == Promise::TxnIsolation)
        });
        assert!(found.is_some(), "{mutant:?} is not found in {DISHONEST} histories");
    }
}
