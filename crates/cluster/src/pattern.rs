//! The regular expressions by which the JSON Schema of the cluster file checks names, ports, MAC addresses, rates,
//! VIDs and prefixes, in the dialect that ECMA-262 and Rust's `regex` share. They accept every valid text and some
//! invalid ones: the parser alone checks, for instance, the length of each name in a hostlist (`n[00-15]`) and ranges
//! that run backwards.

use serde_json::{Value, json};

use crate::limits;

/// The text inside the brackets of a hostlist.
const NUMBERS: &str =
    r"\s*[0-9]{1,9}(\s*-\s*[0-9]{1,9})?\s*(,\s*[0-9]{1,9}(\s*-\s*[0-9]{1,9})?\s*)*";
/// A VID, 1 to 4094.
const VID: &str = "0*([1-9][0-9]{0,2}|[1-3][0-9]{3}|40[0-8][0-9]|409[0-4])";

/// One name.
pub(super) fn name() -> String {
    format!("^{}$", plain_name())
}

/// A hostlist of names.
pub(super) fn names() -> String {
    format!("^{}$", hostlist())
}

/// An entry of a list of hostlists.
pub(super) fn hostlist_entry() -> Value {
    json!({ "type": "string", "pattern": names() })
}

/// `switch:port`, both hostlists.
pub(super) fn link_end() -> String {
    format!("^{}:{}$", hostlist(), port_list())
}

/// `node:nic`, both hostlists.
pub(super) fn nic_end() -> String {
    format!(r"^{}:[!#$&(-.0-9;-Z^-~\[\]\s]+$", hostlist())
}

/// Ports as text.
pub(super) fn ports() -> String {
    format!("^{}$", port_list())
}

/// The name of an interface; see [`not_nic_names`].
pub(super) fn nic_name() -> String {
    format!(r"^[!#$&(-.0-9;-Z^-~]{{1,{}}}$", limits::NIC_NAME)
}

/// Texts that match [`nic_name`] but cannot be the name of an interface.
pub(super) fn not_nic_names() -> Value {
    json!({ "enum": limits::NOT_NIC_NAMES })
}

/// A MAC address that is not a group address.
pub(super) const MAC: &str = "^[0-9A-Fa-f][02468ACEace]([:-][0-9A-Fa-f]{2}){5}$";

/// The zero MAC address, which no interface has.
pub(super) fn not_macs() -> Value {
    json!({ "pattern": "^00([:-]00){5}$" })
}

/// A rate in bits per second.
pub(super) const RATE: &str = r"^[0-9]+(\.[0-9]{0,3})?[GMK]?$";

/// A rate of zero.
pub(super) fn not_rates() -> Value {
    json!({ "pattern": "^[0.]+[GMK]?$" })
}

/// VIDs and ranges of them.
pub(super) fn vids() -> String {
    let part = format!(r"\s*{VID}(\s*-\s*{VID})?\s*");
    format!("^{part}(,{part})*$")
}

/// An IPv4 prefix for unicast between hosts.
pub(super) fn ipv4_prefix() -> String {
    let first = "([1-9]|[1-9][0-9]|1[01][0-9]|12[0-689]|1[3-9][0-9]|2[01][0-9]|22[0-3])";
    let byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    format!(r"^{first}(\.{byte}){{3}}/0*(3[0-2]|[12]?[0-9])$")
}

/// An IPv6 prefix. The parser alone checks where `::` may stand.
pub(super) const IPV6_PREFIX: &str =
    "^[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*/0*(12[0-8]|1[01][0-9]|[1-9]?[0-9])$";

fn plain_name() -> String {
    format!("[A-Za-z0-9][A-Za-z0-9_.-]{{0,{}}}", limits::NAME - 1)
}

fn hostlist() -> String {
    let plain = plain_name();
    format!(r"({plain}|([A-Za-z0-9][A-Za-z0-9_.-]*)?\[{NUMBERS}\]([A-Za-z0-9_.-]|\[{NUMBERS}\])*)")
}

fn port_list() -> String {
    format!(r"\s*([0-9]|\[{NUMBERS}\])+\s*")
}
