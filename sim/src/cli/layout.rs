//! Numbers and lines as people like to read them. Pure functions; nothing is wider than [`WIDTH`]
//! unless a single word is.

use std::time::Duration;

/// How wide a line may be.
pub(super) const WIDTH: usize = 100;

/// `1234567` as `1,234,567`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number in at most four or five characters: `9999`, `12k`, `3456k`, `78M`.
pub(super) fn compact(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// `number / per`, with a decimal as long as that says something: `98`, `6.2`.
pub(super) fn ratio(number: u128, per: u128) -> String {
    let tenths = number * 10 / per.max(1);
    match tenths {
        0..100 => format!("{}.{}", tenths / 10, tenths % 10),
        _ => thousands(u64::try_from(tenths / 10).unwrap_or(u64::MAX)),
    }
}

/// Hours, minutes, seconds: `3:20:07`.
pub(super) fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{}:{:02}:{:02}", thousands(seconds / 3_600), seconds / 60 % 60, seconds % 60)
}

/// A noun that agrees with its number: `1 seed`, `2 seeds`.
pub(super) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number))
}

/// Breaks a text into lines. A line that fits stays as it is; one that does not goes on under its
/// own indentation. Control characters, which odd names may bring, are escaped.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    text.lines().flat_map(|line| wrap_line(&printable(line), width)).collect()
}

fn wrap_line(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.trim_end().to_owned()];
    }
    let indent = &line[..line.len() - line.trim_start().len()];
    let mut lines: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        match lines.last_mut() {
            Some(last) if last.chars().count() + 1 + word.chars().count() <= width => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => lines.push(format!("{indent}{word}")),
        }
    }
    lines
}

/// The text with its control characters escaped.
pub(super) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        if it.is_control() {
            out.extend(it.escape_default());
        } else {
            out.push(it);
        }
    }
    out
}

/// Names and numbers in as many columns as fit, read from top to bottom.
pub(super) fn columns(items: &[(&str, String)]) -> String {
    let mut rows = 1;
    let mut lines = in_rows(items, rows);
    while lines.iter().any(|line| line.len() > WIDTH) && rows < items.len() {
        rows += 1;
        lines = in_rows(items, rows);
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn in_rows(items: &[(&str, String)], rows: usize) -> Vec<String> {
    let mut lines = vec![String::new(); rows.min(items.len())];
    for column in items.chunks(rows) {
        let name = column.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let number = column.iter().map(|(_, number)| number.len()).max().unwrap_or_default();
        for (line, (text, figure)) in lines.iter_mut().zip(column) {
            if !line.is_empty() {
                line.push_str("   ");
            }
            line.push_str(&format!("{text:name$} {figure:>number$}"));
        }
    }
    lines
}
