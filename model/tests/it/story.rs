//! The words in which the stories are told: a clock, short names for events, and what the model
//! makes of them.
//!
//! Times are whole milliseconds. Every broker's clock shows the world's time, unless a story turns
//! it. A story ends with `breaks`, which gives the promises that broke, or `keeps`, which demands
//! that none did and that one was checked.

use model::{Event, Health, Kind, Limits, Micros, Model, Name, Promise, Report, ViewId, What};

/// A history in the making.
#[derive(Debug, Default)]
pub(crate) struct Story {
    now: u64,
    /// How far the clocks of all brokers are ahead of the world's.
    ahead: u64,
    limits: Limits,
    events: Vec<Event>,
}

pub(crate) fn name(of: &str) -> Name {
    of.into()
}

pub(crate) fn names(of: &str) -> Vec<Name> {
    of.split_whitespace().map(name).collect()
}

/// Three brokers `a`, `b`, `c`; the ones named in `down` are dead. `g` prefers `a` (slot 0),
/// `group-x` prefers `c`.
pub(crate) fn three(down: &str) -> Vec<(Name, Health)> {
    let health = |id: &str| if down.contains(id) { Health::Dead } else { Health::Alive };
    ["a", "b", "c"].into_iter().map(|id| (name(id), health(id))).collect()
}

impl Story {
    pub(crate) fn new() -> Story {
        Story::default()
    }

    /// All brokers started long ago and are shown this view, of epoch 7 and version 1.
    pub(crate) fn under(view: Vec<(Name, Health)>) -> Story {
        let mut story = Story::new();
        story.view(1, (7, 1), view);
        story.shows("a b c", Some(1)).lease("a b c", 7);
        story
    }

    /// The next things happen at that millisecond.
    pub(crate) fn at(&mut self, millis: u64) -> &mut Story {
        self.now = millis;
        self
    }

    /// Groups may have so many members.
    pub(crate) fn members_max(&mut self, members: usize) -> &mut Story {
        self.limits.members = members;
        self
    }

    /// Session timeouts must be within these.
    pub(crate) fn sessions(&mut self, shortest: Micros, longest: Micros) -> &mut Story {
        self.limits.sessions = (shortest, longest);
        self
    }

    /// Brokers' clocks are that many milliseconds ahead of the world's.
    pub(crate) fn clocks_ahead(&mut self, millis: u64) -> &mut Story {
        self.ahead = millis;
        self
    }

    pub(crate) fn local(&self) -> Micros {
        Micros::from_millis(self.now + self.ahead)
    }

    pub(crate) fn see(&mut self, what: What) -> &mut Story {
        self.events.push(Event { at: Micros::from_millis(self.now), what });
        self
    }

    pub(crate) fn view(
        &mut self,
        id: u32,
        (epoch, version): (i64, i64),
        brokers: Vec<(Name, Health)>,
    ) -> &mut Story {
        let (view, explicit) = (ViewId(id), Vec::new());
        self.see(What::ViewDefined { view, epoch, version, brokers, explicit })
    }

    /// A view of all three brokers alive, with explicit entries `group=broker`.
    pub(crate) fn view_with(&mut self, id: u32, order: (i64, i64), entries: &str) -> &mut Story {
        let entry = |entry: &str| {
            let (group, broker) = entry.split_once('=').expect("an entry is written group=broker");
            (name(group), name(broker))
        };
        let explicit = entries.split_whitespace().map(entry).collect();
        let (view, epoch, version, brokers) = (ViewId(id), order.0, order.1, three(""));
        self.see(What::ViewDefined { view, epoch, version, brokers, explicit })
    }

    pub(crate) fn shows(&mut self, brokers: &str, view: Option<u32>) -> &mut Story {
        for broker in names(brokers) {
            let (view, local) = (view.map(ViewId), self.local());
            self.see(What::FileShows { broker, view, local });
        }
        self
    }

    pub(crate) fn lease(&mut self, brokers: &str, epoch: i64) -> &mut Story {
        for broker in names(brokers) {
            let local = self.local();
            self.see(What::LeaseShows { broker, epoch, local });
        }
        self
    }

    pub(crate) fn starts(&mut self, broker: &str) -> &mut Story {
        let local = self.local();
        self.see(What::BrokerStarted { broker: name(broker), local })
    }

    pub(crate) fn applies(&mut self, broker: &str, (epoch, version): (i64, i64)) -> &mut Story {
        let local = self.local();
        self.see(What::ViewApplied { broker: name(broker), epoch, version, local })
    }

    pub(crate) fn serves(&mut self, broker: &str, group: &str, what: &'static str) -> &mut Story {
        let (broker, key, kind, local) = (name(broker), name(group), Kind::Group, self.local());
        self.see(What::Served { broker, local, key, kind, what })
    }

    pub(crate) fn locates(&mut self, broker: &str, group: &str, at: &str) -> &mut Story {
        let (broker, key, kind, local) = (name(broker), name(group), Kind::Group, self.local());
        self.see(What::Located { broker, local, key, kind, coordinator: Some(name(at)) })
    }

    pub(crate) fn settled(&mut self) -> &mut Story {
        self.see(What::Settled)
    }

    pub(crate) fn report(&self) -> Report {
        let mut model = Model::new(self.limits);
        for event in &self.events {
            model.observe(event);
        }
        model.finish()
    }

    /// The promises that broke, each once.
    pub(crate) fn breaks(&self) -> Vec<Promise> {
        let mut broken: Vec<Promise> =
            self.report().violations.iter().map(|violation| violation.promise).collect();
        broken.sort_unstable();
        broken.dedup();
        broken
    }

    /// The evidence, one sentence a line.
    pub(crate) fn evidence(&self) -> String {
        let report = self.report();
        let sentences = report.violations.iter().flat_map(|violation| &violation.evidence);
        sentences.map(|sentence| format!("{sentence}\n")).collect()
    }

    /// Nothing broke, and the promise was really checked.
    pub(crate) fn keeps(&self, promise: Promise) {
        let report = self.report();
        assert_eq!(report.violations, [], "{}", self.evidence());
        assert!(report.checked[&promise] > 0, "{promise} was never checked");
    }
}
