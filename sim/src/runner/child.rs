//! The process of a seed.
//!
//! A child runs one seed and prints its outcome as the last line of its output. One that dies, that
//! says anything else, or that does not end, has crashed; its last words are the reason. Both its
//! streams go into one pipe, so that they are read by one thread and stay in order.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::OsString,
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use super::{Source, Stopwatch, crashed};
use crate::{outcome::Outcome, seed::Seed};

/// How many of its last lines are kept of a child.
const LAST_WORDS: usize = 8;

/// Runs each seed in a process of its own.
#[derive(Debug)]
pub struct Children {
    program: PathBuf,
    arguments: Vec<OsString>,
    limit: Duration,
    running: Mutex<BTreeMap<Seed, Running>>,
}

#[derive(Debug)]
struct Running {
    child: Arc<Mutex<Child>>,
    since: Stopwatch,
    is_overdue: bool,
}

impl Children {
    /// Children that are `program arguments… --seed N` and have `limit` of real time each.
    pub fn new(program: PathBuf, arguments: Vec<OsString>, limit: Duration) -> Self {
        Self { program, arguments, limit, running: Mutex::default() }
    }

    fn try_run(&self, seed: Seed) -> Result<Outcome, String> {
        let program = self.program.display();
        let (child, output) =
            self.start(seed).map_err(|error| format!("could not start {program}: {error}"))?;
        let child = Arc::new(Mutex::new(child));
        let running =
            Running { child: Arc::clone(&child), since: Stopwatch::start(), is_overdue: false };
        self.running().insert(seed, running);

        let last_words = last_lines(output);
        let ended = child.lock().expect("nothing panics while it holds a child").wait();
        let running = self.running().remove(&seed).expect("a child is registered until it ends");

        let last_words = last_words.map_err(|error| format!("could not read: {error}"))?;
        let ended = ended.map_err(|error| format!("could not wait: {error}"))?;
        let outcome = last_words.back().and_then(|line| serde_json::from_str(line).ok());
        match outcome {
            Some(outcome) if ended.success() => Ok(outcome),
            Some(_) | None => {
                let how = if running.is_overdue {
                    format!("did not end within {:?} of real time", self.limit)
                } else {
                    format!("ended without an outcome, {ended}")
                };
                Err(reason(how, last_words))
            }
        }
    }

    fn start(&self, seed: Seed) -> io::Result<(Child, io::PipeReader)> {
        let (reader, writer) = io::pipe()?;
        // The command goes at the end of the statement, and with it our end of the writer.
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .arg("--seed")
            .arg(seed.to_string())
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .spawn()?;
        Ok((child, reader))
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<Seed, Running>> {
        self.running.lock().expect("nothing panics while it holds the children")
    }
}

impl Source for Children {
    fn run(&self, seed: Seed) -> Outcome {
        self.try_run(seed).unwrap_or_else(crashed)
    }

    fn tend(&self) {
        for running in self.running().values_mut() {
            if running.is_overdue || running.since.elapsed() < self.limit {
                continue;
            }
            // Whoever holds it is waiting for its end, which is near.
            if let Ok(mut child) = running.child.try_lock() {
                // One that has just ended by itself is left alone.
                running.is_overdue = child.kill().is_ok();
            }
        }
    }
}

/// The last lines of an output, read to its end; empty ones do not count.
fn last_lines(output: impl Read) -> io::Result<VecDeque<String>> {
    let mut output = BufReader::new(output);
    let mut lines = VecDeque::new();
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if text.is_empty() {
            continue;
        }
        if lines.len() == LAST_WORDS {
            lines.pop_front();
        }
        lines.push_back(text);
    }
    Ok(lines)
}

fn reason(how: String, last_words: VecDeque<String>) -> String {
    [how].into_iter().chain(last_words).collect::<Vec<_>>().join("\n")
}
