//! `cargo sim`: the simulator's command line. It is in `cli.rs`; here are the process's two ends.

use std::{
    env,
    io::{self, BufWriter, IsTerminal},
    process::ExitCode,
};

use sim::cli::{self, Console};

fn main() -> ExitCode {
    let mut console = Console {
        input: &mut io::stdin(),
        out: &mut BufWriter::new(io::stdout()),
        err: &mut io::stderr(),
        is_terminal: io::stderr().is_terminal(),
    };
    cli::main(env::args_os(), &mut console).into()
}
