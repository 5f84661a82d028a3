//! Processes to be stopped and killed: the test's own binary, running another of its tests.

use std::{
    env,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{self, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

/// What the child is to do, in the environment of its process.
const ORDERS: &str = "KAAS_TEST_CHILD";
/// What tells the child's own words from those of the test harness, which may share its first line.
const MARK: &str = "> ";

/// What this process, a child, was told to do.
pub(crate) fn orders() -> Option<String> {
    env::var(ORDERS).ok()
}

/// Says something to the parent; it is out when this returns.
pub(crate) fn say(words: &str) {
    writeln!(std::io::stdout().lock(), "{MARK}{words}").expect("the parent listens");
}

/// Puts something into the child's log.
pub(crate) fn log(words: &str) {
    writeln!(std::io::stderr().lock(), "{words}").expect("the log can be written");
}

/// A child process.
pub(crate) struct Child {
    process: process::Child,
    log: PathBuf,
}

/// What a child says.
pub(crate) struct Words(BufReader<ChildStdout>);

impl Child {
    /// Starts a process that runs the test `child` with some orders. What it logs goes to a
    /// file.
    pub(crate) fn start(orders: &str, log: &Path) -> (Self, ChildStdin, Words) {
        let mut process = Command::new(env::current_exe().expect("a test has a binary"))
            .args(["child", "--exact", "--nocapture"])
            .env(ORDERS, orders)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log).expect("a log can be made"))
            .spawn()
            .expect("the binary runs");
        let stdin = process.stdin.take().expect("it is piped");
        let stdout = process.stdout.take().expect("it is piped");
        (Self { process, log: log.to_owned() }, stdin, Words(BufReader::new(stdout)))
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("it is a child");
    }

    /// Kills it, whatever it is doing.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::KILL);
        let status = self.process.wait().expect("it is a child");
        assert!(status.signal().is_some(), "a child has ended by itself:\n{}", self.log());
    }

    /// Its log, for the message of a failed test.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("it is UTF-8")
    }
}

/// Until the child is gone.
impl Iterator for Words {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("the child speaks UTF-8") == 0 {
                return None;
            }
            // Who is killed in the middle of a line has not said it.
            let words = line.strip_suffix('\n').and_then(|line| line.split_once(MARK));
            if let Some((_, words)) = words {
                return Some(words.to_owned());
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a process is killed at some time of its life")]
pub(crate) fn wait(duration: Duration) {
    std::thread::sleep(duration);
}

/// A number that the environment may set.
pub(crate) fn setting(name: &str, usual: u64) -> u64 {
    env::var(name).map_or(usual, |it| it.parse().expect("a number"))
}

/// The same numbers for the same seed (SplitMix64).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// A duration below `millis` milliseconds.
    pub(crate) fn duration(&mut self, millis: u64) -> Duration {
        Duration::from_micros(self.below(millis * 1000))
    }
}
