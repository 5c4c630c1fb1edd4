//! Writes names, lists of VIDs and MAC addresses as the export formats require: some allow fewer
//! characters in names or lines than Tresse does.

use tresse_base::id::Vid;
use tresse_base::units::Mac;

/// Groups consecutive VIDs and returns each group as text: `100` for a single VID, `100-103` for four.
/// `vids` must be ascending.
#[must_use]
pub fn runs(vids: &[Vid]) -> Vec<String> {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for &Vid(vid) in vids {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == vid => *last = vid,
            _ => runs.push((vid, vid)),
        }
    }
    runs.into_iter().map(run).collect()
}

fn run((first, last): (u16, u16)) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// `100-103,107`.
pub(super) fn ranges(vids: &[Vid]) -> String {
    runs(vids).join(",")
}

/// [`ranges`] cut into lists of at most `most` characters, for dialects with short lines.
pub(super) fn lists(vids: &[Vid], most: usize) -> Vec<String> {
    let mut lists: Vec<String> = Vec::new();
    for text in runs(vids) {
        match lists.last_mut() {
            Some(list) if list.len() + 1 + text.len() <= most => {
                list.push(',');
                list.push_str(&text);
            }
            _ => lists.push(text),
        }
    }
    lists
}

/// The runs of all VIDs from 1 to 4094 that are not in `vids`, which is ascending.
pub(super) fn others(vids: &[Vid]) -> Vec<String> {
    let mut runs = Vec::new();
    let mut next = 1;
    for &Vid(vid) in vids {
        if vid > next {
            runs.push((next, vid - 1));
        }
        next = vid + 1;
    }
    if next <= 4094 {
        runs.push((next, 4094));
    }
    runs.into_iter().map(run).collect()
}

/// `name` with everything but letters, digits, `-` and `_` written as `_`, at most `most` long.
pub(super) fn plain(name: &str, most: usize) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .take(most)
        .collect()
}

/// A VLAN's name where names are plain and unique: `tresse-100-VL_-_1_0_`. The VID keeps names
/// apart that are mapped alike or cut short.
pub(super) fn vlan_name(vid: Vid, name: &str, most: usize) -> String {
    plain(&format!("tresse-{vid}-{name}"), most)
}

/// Cisco's spelling of a MAC address: `0254.0000.0001`.
pub(super) fn dotted(mac: Mac) -> String {
    let [a, b, c, d, e, f] = mac.0;
    format!("{a:02x}{b:02x}.{c:02x}{d:02x}.{e:02x}{f:02x}")
}

/// Returns a text as one word for a POSIX shell, quoted where it has to be.
#[must_use]
pub fn shell(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vids(vids: &[u16]) -> Vec<Vid> {
        vids.iter().copied().map(Vid).collect()
    }

    #[test]
    fn lists_of_vids() {
        let some = vids(&[100, 101, 103, 200, 201, 202]);
        assert_eq!(runs(&some), ["100-101", "103", "200-202"]);
        assert_eq!(ranges(&some), "100-101,103,200-202");
        assert_eq!(lists(&some, 11), ["100-101,103", "200-202"]);
        assert_eq!(others(&some), ["1-99", "102", "104-199", "203-4094"]);
        assert_eq!(others(&[]), ["1-4094"]);
        assert_eq!(others(&vids(&[1, 4094])), ["2-4093"]);
        assert_eq!(lists(&[], 10), Vec::<String>::new());
    }

    #[test]
    fn names_keep_to_the_dialect() {
        assert_eq!(vlan_name(Vid(100), "VL(-:1,0)", 32), "tresse-100-VL_-_1_0_");
        assert_eq!(vlan_name(Vid(100), "VL(-:1,0,2|(0,1,2))xxxxxx", 32).len(), 32);
        assert_eq!(shell("eth0.100"), "eth0.100");
        assert_eq!(shell("tresse:VL(-:1,0)"), "'tresse:VL(-:1,0)'");
        assert_eq!(shell("it's"), r"'it'\''s'");
        assert_eq!(dotted(Mac([2, 0x54, 0, 0, 0, 1])), "0254.0000.0001");
    }
}
