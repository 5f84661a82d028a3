//! A file name for any id: readable where possible, injective always.
//!
//! An id of `[A-Za-z0-9._-]` that does not begin with a dot is its own name. Any other is
//! percent-encoded, which no plain name can equal since `%` is not a plain character. An id whose
//! name would be too long gets a prefix and its SHA-256; the id stored inside the file is what is
//! believed then (see `offset_store/file.rs`).

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The longest name, without `.json`; with it and a claim's suffix every name stays below the
/// 255 bytes that file systems allow.
pub const NAME_MAX: usize = 195;
/// How much of a long id's encoding its name begins with, for the eyes of an operator.
const PREFIX_MAX: usize = 100;

/// The name of an id's file and claims, without `.json`.
pub fn encode(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if id.is_empty() {
        return "%".to_owned();
    }
    let mut name = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        if plain(byte) && !(at == 0 && byte == b'.') {
            name.push(char::from(byte));
        } else {
            write!(name, "%{byte:02X}").expect("a string takes any text");
        }
    }
    if name.len() <= NAME_MAX {
        return name;
    }
    let mut end = PREFIX_MAX;
    if let Some(escape) = name[..end].rfind('%').filter(|&at| at + 3 > end) {
        end = escape;
    }
    let mut long = format!("%~{}~", &name[..end]);
    for byte in Sha256::digest(id.as_bytes()) {
        write!(long, "{byte:02x}").expect("a string takes any text");
    }
    long
}

/// The id that a name encodes; `None` if the name holds only a part of it, or is no name.
pub fn decode(name: &str) -> Option<String> {
    if name == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = tail;
    }
    let id = String::from_utf8(bytes).ok()?;
    (encode(&id) == name).then_some(id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{NAME_MAX, decode, encode};

    fn check(id: &str, expected: &str) {
        assert_eq!(encode(id), expected);
        assert_eq!(decode(expected), Some(id.into()));
    }

    #[test]
    fn names() {
        check("orders-service", "orders-service");
        check("UPPER_1.2", "UPPER_1.2");
        check("", "%");
        check(".", "%2E");
        check("..", "%2E.");
        check(".claims", "%2Eclaims");
        check("a/b", "a%2Fb");
        check("../assignment", "%2E.%2Fassignment");
        check("nul\0", "nul%00");
        check("%", "%25");
        check("grüppe", "gr%C3%BCppe");
        assert_eq!(decode("%2"), None);
        assert_eq!(decode("a%41"), None, "only what encode makes is a name");
    }

    #[test]
    fn long_ids_that_differ_in_one_character_have_their_own_names() {
        let mut names = BTreeMap::new();
        for length in [195, 196, 300, 5000] {
            for last in ["a", "b", "/", "ü"] {
                let id = "x".repeat(length) + last;
                let name = encode(&id);
                assert!(name.len() <= NAME_MAX, "{name}");
                assert_eq!(names.insert(name, id), None);
            }
        }
    }

    proptest! {
        #[test]
        fn names_are_safe_and_injective(id in "\\PC{0,80}|[./%~a\0]{0,12}|(\u{fc}|x){60,300}") {
            let name = encode(&id);
            prop_assert!(name.len() <= NAME_MAX);
            prop_assert!(!name.starts_with('.') && !name.contains(['/', '\0']));
            if let Some(back) = decode(&name) {
                prop_assert_eq!(back, id);
            } else {
                prop_assert!(name.starts_with("%~"));
            }
        }
    }
}
