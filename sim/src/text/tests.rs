//! What is printed parses to the same plan; what does not parse says what would.

use std::{collections::BTreeSet, time::Duration};

use proptest::prelude::{ProptestConfig, proptest};

use super::{parse, read, verbs, verbs::Read};
use crate::{
    draw,
    plan::{Action, Clients, Manner, Plan, Span, Step},
    seed::Seed,
};

mod arbitrary;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_parses_to_the_same_plan(plan in arbitrary::plan()) {
        let text = plan.to_string();
        let again = parse("printed.scn", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again, plan, "\n{text}");
        assert_eq!(again.to_string(), text);
    }

    #[test]
    fn no_text_is_too_odd_for_the_parser(text in "(# .\n)?([a-z -]{0,9}[=.%#\n0-9]{0,3}){0,9}") {
        let _ = parse("odd.scn", &text);
    }
}

#[test]
fn what_is_drawn_can_be_written_down() {
    for (profile, _) in draw::PROFILES {
        for seed in 0..200 {
            let plan = draw::draw(Seed(seed), profile).unwrap();
            let again = parse("drawn.scn", &plan.to_string()).unwrap();
            assert_eq!(again, plan, "seed {seed}, profile {profile}");
        }
    }
}

const ROLLING_RESTART: &str = "\
# Rolling restart under load.
#
# Each broker goes and comes back while two groups commit.

brokers    3
network    latency=1ms..10ms
topic      orders    partitions=6
topic      payments  partitions=3
group      billing   topic=orders members=2 commit-every=500ms
group      audit     topic=payments members=1 session=6s
committer  batch     topic=orders every=1s

stable     billing audit  within=30s
restart    kaas-1         down=3s
wait       5s
restart    kaas-2         down=3s how=abrupt # the last one
stop-in    kaas-0         on=rename pause=20s at=12500ms
";

#[test]
fn a_scenario_reads_as_it_is_meant() {
    let scenario = read("rolling.scn", ROLLING_RESTART).unwrap();
    let Plan { claim, seed, brokers, network, topics, clients, steps, .. } = &scenario.plan;
    assert_eq!(claim.len(), 3);
    assert_eq!(claim[0], "Rolling restart under load.");
    assert_eq!((*seed, *brokers, topics.len(), clients.len()), (0, 3, 2, 3));
    assert_eq!(*network, Span { min: Duration::from_millis(1), max: Duration::from_millis(10) });
    assert_eq!(
        clients[1],
        Clients::Group {
            name: "audit".to_owned(),
            topic: "payments".to_owned(),
            members: 1,
            commit_every: Duration::from_secs(1),
            session: Duration::from_secs(6),
            rebalance: Duration::from_secs(20),
            heartbeat: Duration::from_secs(3),
            is_static: false,
            transactions: None,
        }
    );
    let last = "stop-in  kaas-0  on=rename pause=20s at=12500ms";
    assert_eq!(steps[4].to_string(), last);
    assert_eq!(steps[4].at, Some(Duration::from_millis(12_500)));
    assert_eq!(scenario.step_lines, [13, 14, 15, 16, 17]);
}

#[test]
fn printing_aligns_a_scenario_as_a_person_would() {
    let plan = parse("rolling.scn", ROLLING_RESTART).unwrap();
    assert_eq!(plan.to_string(), ROLLING_RESTART.replace(" # the last one", ""));
}

#[track_caller]
fn reject(line: &str, expected: &str) {
    let text = format!("{}\n{line}\n", ROLLING_RESTART.trim_end());
    let error = parse("x.scn", &text).unwrap_err();
    assert_eq!(error.to_string(), format!("x.scn:18: {expected}"), "{line}");
}

#[test]
fn an_error_in_a_word_says_where_and_what_would_be_right() {
    reject("restrat kaas-1 down=3s", "there is no verb `restrat`; did you mean `restart`?");
    reject("explode kaas-1", "there is no verb `explode`; `cargo sim verbs` lists all");
    reject("down=3s kaas-1", "a line begins with a verb; write one in front of `down=3s`");
    reject("stable witin=3s", "`stable` has no option `witin`; did you mean `within`?");
    reject(
        "stable within=3s at=1s",
        "`stable` has no option `at`; write `stable [GROUP...] within=DURATION`",
    );
    reject("pause kaas-1 for=1s for=2s", "`for` is given twice; keep one");
    reject("pause for=1s kaas-1", "names come before options; write `kaas-1` before `for=`");
    reject("pause kaas-1 for= 1s", "`for=` is half an option; write `key=value` without blanks");
    reject("pause kaas-1 for = 1s", "`=` is half an option; write `key=value` without blanks");
}

#[test]
fn an_error_in_what_is_there_says_where_and_what_would_be_right() {
    reject("pause kaas-1", "`pause` needs `for=DURATION`");
    reject("damage for=1s", "`damage` needs `how=torn|missing|foreign|unreadable`");
    reject("start", "`start` needs a name; write `start BROKER [at=TIME]`");
    reject(
        "start kaas-1 kaas-2",
        "`start` has no use for `kaas-2`; write `start BROKER [at=TIME]`",
    );
    reject(
        "wait soon",
        "`soon` is not a duration; write a whole number and a unit, as in `500ms`, `3s` or `2m`",
    );
    reject("wait 12.5s", "`12.5s` is not a duration; write `12500ms`");
    reject(
        "kill kaas-1 peers=dead",
        "`peers=dead` is not a choice here; write `reset` or `silent`",
    );
    reject(
        "cut kaas-1 for=ever",
        "`for=ever` is not a duration or `good`; write a whole number and a unit, as in `500ms`, \
         `3s` or `2m`, or `good`",
    );
    reject(
        "fail error=io percent=30 for=1s",
        "`percent=30` is not a share; write a share from `1%` to `100%`",
    );
}

#[test]
fn an_error_in_a_name_says_where_and_what_would_be_right() {
    reject("start kaas-3", "there is no broker `kaas-3`; there are `kaas-0` to `kaas-2`");
    reject("start kaas-01", "there is no broker `kaas-01`; there are `kaas-0` to `kaas-2`");
    reject(
        "stable biling within=1s",
        "there is no group with members `biling`; did you mean `billing`?",
    );
    reject(
        "stable batch within=1s",
        "there is no group with members `batch`; there is `billing`, `audit`",
    );
    reject(
        "duplicate billing.1 for=5s",
        "`billing.1` has no instance id; give `group billing` the option `static=yes`",
    );
    reject(
        "cut kaas-1 way=answers for=good",
        "for good only a whole broker is cut off, both ways; leave out `client` and `way`",
    );
    reject("rot stock", "there is no group `stock`; there is `billing`, `audit`, `batch`");
    reject("leave billing.3", "there is no member `billing.3`; did you mean `billing.1`?");
    reject(
        "leave batch!",
        "there is no member `batch!`; there is `billing.1`, `billing.2`, `audit.1`",
    );
    reject(
        "freeze ops for=1s",
        "there is no client `ops`; there is `billing.1`, `billing.2`, `audit.1`, `batch!`",
    );
}

#[test]
fn an_error_in_a_declaration_says_where_and_what_would_be_right() {
    reject("topic late partitions=1", "`topic` belongs above the first step, line 13");
    let check = |lines: &str, expected: &str| {
        let error = parse("x.scn", &format!("# Claim.\n{lines}")).unwrap_err();
        assert_eq!(error.to_string(), format!("x.scn:{expected}"), "{lines}");
    };
    let topic = "topic orders partitions=1";
    check(
        "topic a partitions=1",
        "2: nobody has said how many brokers there are; write `brokers 3` first",
    );
    check("failover", "2: nobody has said how many brokers there are; write `brokers 3` first");
    let many = format!("brokers 1\n{topic}\ngroup g topic=orders members=9\nleave h");
    check(
        &many,
        "5: there is no member `h`; there is `g.1`, `g.2`, `g.3`, `g.4`, `g.5`, `g.6` and 3 more",
    );
    check("brokers 3\nbrokers 4", "3: `brokers` is in line 2 already; keep one");
    check("brokers 0", "2: `0` is not a count; write a whole number from 1 to 4294967295");
    check(
        "topic a/b partitions=1",
        "2: `a/b` is no name here; write letters, digits, `.`, `_` and `-`",
    );
    check(
        &format!("{topic}\n{topic}"),
        "3: there is a topic `orders` already; choose another name",
    );
    check(
        "admin a every=1s\nadmin a every=2s",
        "3: there is a client `a` already; choose another name",
    );
    check(
        "admin examiner every=1s",
        "2: there is a client `examiner` already; choose another name",
    );
    let group = format!("{topic}\ngroup g topic=orders members=1");
    check(
        &format!("{group}\nrude stock manner=never-syncs every=1s"),
        "4: there is no group with members `stock`; there is `g`",
    );
    let manners = Manner::ALL.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>();
    let (last, manners) = manners.split_last().unwrap();
    check(
        &format!("{group}\nrude g manner=shouts every=1s"),
        &format!("4: `manner=shouts` is not a choice here; write {} or {last}", manners.join(", ")),
    );
    check("admin a every=0s", "2: `every=0s` is not a duration above zero; write `1ms` or more");
    check("committer a topic=order every=1s", "2: there is no topic `order`; declare it above");
    check(
        &format!("{topic}\ncommitter a topic=order every=1s"),
        "3: there is no topic `order`; did you mean `orders`?",
    );
    let error = parse("x.scn", "\n# Late.\nbrokers 3\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.scn:1: a scenario begins with its claim; write `# What must hold.`"
    );
}

#[test]
fn transactions_need_the_current_release_everywhere() {
    let why = "the former release drops what waits for the end of a transaction; leave out \
               `release=former` or `transactions=`";
    let topic = "topic orders partitions=1";
    let group = "group g topic=orders members=1 transactions=9s";
    let check = |lines: &[&str]| {
        let text = format!("# Claim.\n{}", lines.join("\n"));
        let error = parse("x.scn", &text).unwrap_err();
        let last = lines.len() + 1;
        assert_eq!(error.to_string(), format!("x.scn:{last}: {why}"), "{text}");
    };
    check(&["brokers 3 release=former", topic, group]);
    check(&[topic, group, "brokers 3 release=former"]);
    check(&["brokers 3", topic, group, "install kaas-0 release=former down=1s at=9s"]);
}

#[test]
fn a_broker_may_be_named_above_the_line_it_comes_with() {
    let text = "# Claim.\nbrokers 1\nstart kaas-4 at=9s\nscale to=5 at=1s\n";
    let plan = parse("x.scn", text).unwrap();
    assert_eq!(
        plan.steps[1],
        Step { at: Some(Duration::from_secs(1)), when: None, action: Action::Scale { to: 5 } }
    );
}

/// A scenario with a verb's example in it.
fn with_example(verb: &super::Verb) -> String {
    let prelude = [
        "brokers 3",
        "topic orders partitions=6",
        "group billing topic=orders members=2 static=yes",
    ];
    let prelude =
        prelude.into_iter().filter(|line| !line.starts_with("brokers") || verb.name != "brokers");
    let lines: Vec<_> = ["# Claim."].into_iter().chain(prelude).chain([verb.example]).collect();
    lines.join("\n")
}

#[test]
fn every_example_parses_and_shows_its_verb() {
    for verb in verbs() {
        let text = with_example(verb);
        let plan = parse(verb.name, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let printed = plan.to_string();
        let is_example = |line: &str| line.split_whitespace().eq(verb.example.split(' '));
        assert!(printed.lines().any(is_example), "{} is printed as\n{printed}", verb.example);
        assert!(verb.usage.split(' ').next() == Some(verb.name), "{}", verb.usage);
        assert!(verb.about.ends_with('.'), "{}", verb.about);
    }
}

#[test]
fn every_verb_has_one_name_and_every_action_a_verb() {
    let names: BTreeSet<_> = verbs().map(|verb| verb.name).collect();
    assert_eq!(names.len(), verbs().count());
    let steps = verbs().filter(|verb| matches!(verb.read, Read::Step(_)));
    let kinds: BTreeSet<_> = steps
        .map(|verb| {
            let plan = parse(verb.name, &with_example(verb)).unwrap();
            arbitrary::kind(&plan.steps[0].action)
        })
        .collect();
    assert_eq!(kinds, (0..arbitrary::KINDS).collect());
}
