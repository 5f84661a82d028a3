//! `records`: what is not as Kafka and the scenarios have it on record, as JSON; `prove` asks for it.

use super::{Console, Exit, Halt, args::RecordsArgs};
use crate::prove::Differences;

pub(super) fn command(args: &RecordsArgs, console: &mut Console<'_>) -> Result<Exit, Halt> {
    let differences = Differences::look(&args.root).map_err(Halt::data)?;
    serde_json::to_writer(&mut *console.out, &differences).map_err(std::io::Error::from)?;
    writeln!(console.out)?;
    Ok(if differences.is_none() { Exit::Kept } else { Exit::Broke })
}
