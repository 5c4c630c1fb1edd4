//! The journal's MESSAGE_ID for each kind of event of the daemon. The file
//! `systemd/tressed.catalog` explains each id to users of journalctl(1)
//! (sd_journal_get_catalog(3)).

/// (kind, MESSAGE_ID).
const MESSAGES: [(&str, &str); 19] = [
    ("applied", "f6fadfa7e5c14b629362da5cc13da58a"),
    ("rolled-back", "2c63888f28f04481be6ddce7a7ace732"),
    ("withdrawn", "8a119b9e16bc47328f7b7676d015b0dc"),
    ("failed", "bc67ba94637d4efaa09e467ada679f81"),
    ("resync", "fab36728a78b4b7e8787c0de2f960063"),
    ("drift", "a712755f6cac44d599d5269512e74f7b"),
    ("link", "ac8efe121c5949f1ba2dde83458bfed0"),
    ("proven", "5796a670482c490e8d9782bfcdc83011"),
    ("fused", "0b80a25553a14945a93258ef7777682c"),
    ("unfused", "45ac16b9c20d4c218f8a7abff2e91ac7"),
    ("path-down", "dd2ee150d2844277b89c1af40ce8fcc9"),
    ("path-up", "3c3ae353fb14428e90b401a6c1cc0aff"),
    ("drained", "b9c8b9ffe46e46279419c7723226db94"),
    ("undrained", "bbeeb6361d334c6d96f0da847a2a3b87"),
    ("pinned", "68e58909ccb24416925a56c9a30f4300"),
    ("weighted", "3f0c1d8e5b7a4c62a9e4d1f7086b2c35"),
    ("unpinned", "ff53a46f5ead403a84c4b877678537a3"),
    ("other-plan", "5b1e0a6c9d7f4c2f8a3e61d4907cb852"),
    ("same-plan", "c4d2f7190b8e4a67b5f2093ad1e86c74"),
];

/// Returns the MESSAGE_ID under which the journal has a kind of event, such as `drift`; `None` if
/// the kind has no id.
pub fn message_id(kind: &str) -> Option<&'static str> {
    MESSAGES.iter().find(|(known, _)| *known == kind).map(|(_, id)| *id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_is_explained_once() {
        let text = include_str!("../../../systemd/tressed.catalog");
        let explained: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("-- ")).collect();
        let ids: Vec<&str> = MESSAGES.iter().map(|(_, id)| *id).collect();
        assert_eq!(explained, ids);
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        for (kind, id) in MESSAGES {
            assert!(id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{kind}");
            assert_eq!(message_id(kind), Some(id));
        }
    }
}
