//! A plan becomes a file.

use std::fmt::{self, Display, Formatter};

use super::{
    defaults,
    value::{Count, Lasts, Nth, Percent, Period, Ppm, Value},
};
use crate::plan::{Action, Clients, Plan, Step, Topic};

/// A line in the making.
struct Words {
    verb: &'static str,
    names: Vec<String>,
    options: Vec<String>,
}

fn line(verb: &'static str) -> Words {
    Words { verb, names: Vec::new(), options: Vec::new() }
}

impl Words {
    fn name(mut self, name: &str) -> Self {
        self.names.push(name.to_owned());
        self
    }

    fn text(mut self, key: &str, text: &str) -> Self {
        self.options.push(format!("{key}={text}"));
        self
    }

    fn optional_text(self, key: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    fn option(self, key: &str, value: impl Value) -> Self {
        self.text(key, &value.write())
    }

    fn optional(self, key: &str, value: Option<impl Value>) -> Self {
        match value {
            Some(value) => self.option(key, value),
            None => self,
        }
    }

    fn unless<T: Value + PartialEq>(self, key: &str, value: T, usual: T) -> Self {
        self.optional(key, (value != usual).then_some(value))
    }

    /// In columns as wide as these; two blanks set them apart.
    fn write(&self, f: &mut Formatter<'_>, verbs: usize, names: usize) -> fmt::Result {
        let (names, gap) = if self.names.is_empty() { (0, "") } else { (names, "  ") };
        let options = self.options.join(" ");
        let text = format!("{:verbs$}  {:names$}{gap}{options}", self.verb, self.names.join(" "));
        f.write_str(text.trim_end())
    }
}

/// The scenario file.
impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for text in &self.claim {
            writeln!(f, "{}", format!("# {text}").trim_end())?;
        }
        let topics = self.topics.iter().map(topic);
        let clients = self.clients.iter().map(clients);
        let header: Vec<_> = settings(self).into_iter().chain(topics).chain(clients).collect();
        let steps: Vec<_> = self.steps.iter().map(step).collect();
        let width = header.iter().chain(&steps).map(|it| it.verb.len()).max().unwrap_or(0);
        for block in [header, steps] {
            if !block.is_empty() {
                writeln!(f)?;
            }
            let names = block.iter().filter(|it| !it.options.is_empty());
            let names = names.map(|it| it.names.join(" ").len()).max().unwrap_or(0);
            for line in block {
                line.write(f, width, names)?;
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

/// The step's line.
impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let words = step(self);
        let names = words.names.join(" ").len();
        words.write(f, words.verb.len(), names)
    }
}

fn settings(plan: &Plan) -> Vec<Words> {
    let is_usual = |it: &Words| it.options.is_empty() && it.names.is_empty();
    let seed = (plan.seed != defaults::SEED).then(|| plan.seed.write());
    let settings = [
        line("brokers").name(&Count(plan.brokers).write()).unless(
            "release",
            plan.release,
            defaults::RELEASE,
        ),
        seed.iter().fold(line("seed"), |it, seed| it.name(seed)),
        line("network").unless("latency", plan.network, defaults::NETWORK),
        line("volume").unless("latency", plan.volume, defaults::VOLUME),
        line("clocks").unless("drift", Ppm(plan.drift_ppm), Ppm(defaults::DRIFT_PPM)),
        line("clients").unless("stagger", plan.stagger, defaults::STAGGER),
        line("group-size").optional("max", plan.group_max.map(Count)),
    ];
    settings.into_iter().filter(|it| !is_usual(it)).collect()
}

fn topic(topic: &Topic) -> Words {
    line("topic").name(&topic.name).option("partitions", Count(topic.partitions))
}

fn clients(clients: &Clients) -> Words {
    match clients {
        Clients::Group {
            name,
            topic,
            members,
            commit_every,
            session,
            rebalance,
            heartbeat,
            is_static,
            transactions,
        } => line("group")
            .name(name)
            .text("topic", topic)
            .option("members", Count(*members))
            .unless("commit-every", *commit_every, defaults::COMMIT_EVERY)
            .unless("session", *session, defaults::SESSION)
            .unless("rebalance", *rebalance, defaults::REBALANCE)
            .unless("heartbeat", *heartbeat, defaults::HEARTBEAT)
            .unless("static", *is_static, false)
            .optional("transactions", transactions.map(Period)),
        Clients::Committer { name, topic, every, at_once } => line("committer")
            .name(name)
            .text("topic", topic)
            .option("every", Period(*every))
            .unless("at-once", Count(*at_once), Count(defaults::AT_ONCE)),
        Clients::Reader { name, every } => {
            line("reader").name(name).option("every", Period(*every))
        }
        Clients::OneShot { name, count, every, odd_ids, delete } => line("one-shot")
            .name(name)
            .option("count", Count(*count))
            .option("every", Period(*every))
            .unless("odd-ids", *odd_ids, false)
            .unless("delete", *delete, false),
        Clients::Admin { name, every } => line("admin").name(name).option("every", Period(*every)),
        Clients::Rude { group, manner, every, from } => line("rude")
            .name(group)
            .option("manner", *manner)
            .option("every", Period(*every))
            .unless("from", *from, defaults::FROM),
    }
}

fn step(step: &Step) -> Words {
    let when = step.when.as_ref();
    action(&step.action)
        .optional("at", step.at)
        .optional("when", when.map(|it| Nth { moment: it.moment, nth: it.nth }))
        .optional_text("of", when.and_then(|it| it.group.as_deref()))
}

fn action(action: &Action) -> Words {
    options(action, subject(action))
}

/// The verb that an action is written with.
pub fn verb_of(action: &Action) -> &'static str {
    subject(action).verb
}

/// The verb, and whom it is about.
fn subject(action: &Action) -> Words {
    match action {
        Action::Wait { duration } => line("wait").name(&duration.write()),
        Action::Stable { groups, .. } => {
            groups.iter().fold(line("stable"), |it, name| it.name(name))
        }
        Action::Restart { broker, .. } => line("restart").name(broker),
        Action::Install { broker, .. } => line("install").name(broker),
        Action::Kill { broker, .. } => line("kill").name(broker),
        Action::Start { broker } => line("start").name(broker),
        Action::Pause { broker, .. } => line("pause").name(broker),
        Action::StopIn { broker, .. } => line("stop-in").name(broker),
        Action::Starve { broker, .. } => line("starve").name(broker),
        Action::Panic { broker, .. } => line("panic").name(broker),
        Action::Jump { broker, .. } => line("jump").name(broker),
        Action::StopClock { broker, .. } => line("stop-clock").name(broker),
        Action::Flap { broker, .. } => line("flap").name(broker),
        Action::Scale { .. } => line("scale"),
        Action::Entry { group, .. } => line("entry").name(group),
        Action::Depose { .. } => line("depose"),
        Action::Elect { .. } => line("elect"),
        Action::Twin { broker, .. } => line("twin").name(broker),
        Action::Damage { .. } => line("damage"),
        Action::Lag { broker, .. } => line("lag").name(broker),
        Action::OldLease { broker, .. } => line("old-lease").name(broker),
        Action::Cut { broker, .. } | Action::CutOff { broker } => line("cut").name(broker),
        Action::BlackHole { broker, .. } => line("black-hole").name(broker),
        Action::Reset { broker } => line("reset").name(broker),
        Action::Slow { broker, .. } => line("slow").name(broker),
        Action::Fail { .. } => line("fail"),
        Action::SlowVolume { .. } => line("slow-volume"),
        Action::Failover => line("failover"),
        Action::Rot { group } => line("rot").name(group),
        Action::Leave { client } => line("leave").name(client),
        Action::Freeze { client, .. } => line("freeze").name(client),
        Action::Crash { client, .. } => line("crash").name(client),
        Action::Duplicate { client, .. } => line("duplicate").name(client),
    }
}

/// The same line, with what is not as usual.
fn options(action: &Action, line: Words) -> Words {
    match action {
        Action::Wait { .. }
        | Action::Start { .. }
        | Action::Reset { .. }
        | Action::Failover
        | Action::Rot { .. }
        | Action::Leave { .. } => line,
        Action::Pause { duration, .. }
        | Action::Flap { duration, .. }
        | Action::Twin { duration, .. }
        | Action::BlackHole { duration, .. }
        | Action::StopClock { duration, .. }
        | Action::Freeze { duration, .. }
        | Action::Duplicate { duration, .. } => line.option("for", *duration),
        Action::Crash { down, keeps_id, peers, .. } => line
            .option("down", *down)
            .unless("keeps-id", *keeps_id, false)
            .unless("peers", *peers, defaults::GOODBYE),
        Action::Starve { percent, duration, .. } => {
            line.option("share", Percent(*percent)).option("for", *duration)
        }
        Action::Panic { nth, .. } => line.unless("nth", Count(*nth), Count(defaults::NTH)),
        Action::Jump { by, .. } => line.option("by", Period(*by)),
        Action::Lag { duration, back, .. } | Action::OldLease { duration, back, .. } => {
            line.unless("back", *back, false).option("for", *duration)
        }
        Action::Depose { delay } => line.option("delay", *delay),
        Action::Elect { delay, reset } => {
            line.option("delay", *delay).unless("reset", *reset, false)
        }
        Action::Stable { within, .. } => line.option("within", *within),
        Action::Restart { down, exit, .. } => {
            line.option("down", *down).unless("how", *exit, defaults::EXIT)
        }
        Action::Install { release, down, exit, .. } => line
            .option("release", *release)
            .option("down", *down)
            .unless("how", *exit, defaults::EXIT),
        Action::Kill { peers, .. } => line.unless("peers", *peers, defaults::GOODBYE),
        Action::StopIn { on, nth, pause, .. } => line
            .option("on", *on)
            .unless("nth", Count(*nth), Count(defaults::NTH))
            .optional("pause", *pause),
        Action::Scale { to } => line.option("to", Count(*to)),
        Action::Entry { broker, stays, .. } => {
            line.text("broker", broker.as_deref().unwrap_or("none")).unless("stays", *stays, false)
        }
        Action::Damage { how, duration } => line.option("how", *how).option("for", *duration),
        Action::Cut { client, way, duration, .. } => line
            .optional_text("client", client.as_deref())
            .unless("way", *way, defaults::WAY)
            .option("for", *duration),
        Action::CutOff { .. } => line.option("for", Lasts::Good),
        Action::Slow { by, duration, .. } => line.option("by", *by).option("for", *duration),
        Action::Fail { broker, error, on, percent, duration } => line
            .optional_text("broker", broker.as_deref())
            .option("error", *error)
            .unless("on", *on, defaults::OPERATION)
            .unless("percent", Percent(*percent), Percent(defaults::PERCENT))
            .option("for", *duration),
        Action::SlowVolume { broker, by, duration } => line
            .optional_text("broker", broker.as_deref())
            .option("by", *by)
            .option("for", *duration),
    }
}
