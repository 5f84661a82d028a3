//! The command line: what can be typed, and what comes back.
//!
//! A command writes to the [`Console`] it is given and returns an [`Exit`]; nothing here prints,
//! exits or knows where its output goes, so that tests can read it. The last lines of a failure are
//! always the commands to type next.
//!
//! `args` is what can be typed. `run` and `replay` are the two commands that people use; `summary`
//! and `evidence` are what they say.

mod args;
mod attempt;
mod conformance;
mod determinism;
mod evidence;
mod exit;
mod failures;
mod json;
mod junit;
mod layout;
mod one;
mod progress;
mod prove;
mod records;
mod replay;
mod run;
mod summary;
#[cfg(test)]
mod tests;
mod words;

use std::{
    ffi::OsString,
    fmt,
    io::{ErrorKind, Read, Write},
};

use clap::Parser;

pub use self::exit::Exit;
use self::{
    args::{Cli, Command},
    exit::Halt,
};
use crate::bench;

/// Where a command reads and writes.
pub struct Console<'a> {
    /// What is typed or piped in.
    pub input: &'a mut dyn Read,
    /// Results.
    pub out: &'a mut dyn Write,
    /// Progress and complaints.
    pub err: &'a mut dyn Write,
    /// Whether somebody watches `err`: then progress is a bar.
    pub is_terminal: bool,
}

impl fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("is_terminal", &self.is_terminal).finish_non_exhaustive()
    }
}

/// Does what the arguments say, the first of which is the program's name.
pub fn main(args: impl IntoIterator<Item = OsString>, console: &mut Console<'_>) -> Exit {
    let result = match Cli::try_parse_from(args) {
        Ok(cli) => dispatch(&cli.command, console),
        Err(error) => explain(&error, console),
    };
    let result = result.and_then(|exit| {
        console.out.flush()?;
        Ok(exit)
    });
    result.unwrap_or_else(|halt| {
        if let Some(message) = &halt.message {
            // If nobody can be told, the exit code must do.
            drop(writeln!(console.err, "error: {message}"));
        }
        halt.exit
    })
}

fn dispatch(command: &Command, console: &mut Console<'_>) -> Result<Exit, Halt> {
    match command {
        Command::Run(args) => run::command(args, console),
        Command::Replay(args) => replay::command(args, console),
        Command::Determinism(args) => determinism::command(args, console),
        Command::Conformance(args) => conformance::command(args, console),
        Command::Prove(args) => prove::command(args, console),
        Command::Promises => words::promises(console),
        Command::Verbs => words::verbs(console),
        Command::Milestones => words::milestones(console),
        Command::Bench => {
            bench::run(console.out)?;
            Ok(Exit::Kept)
        }
        Command::One(args) => one::command(args, console),
        Command::Records(args) => records::command(args, console),
    }
}

/// Help, or what is wrong with the arguments.
fn explain(error: &clap::Error, console: &mut Console<'_>) -> Result<Exit, Halt> {
    if error.use_stderr() {
        write!(console.err, "{}", error.render())?;
        Ok(Exit::Usage)
    } else {
        write!(console.out, "{}", error.render())?;
        Ok(Exit::Kept)
    }
}

impl From<std::io::Error> for Halt {
    /// The console is gone. A reader that has seen enough, such as `head`, needs no message.
    fn from(error: std::io::Error) -> Self {
        let is_silent = error.kind() == ErrorKind::BrokenPipe;
        let message = (!is_silent).then(|| format!("could not write the output: {error}"));
        Self { exit: Exit::InputOutput, message }
    }
}
