//! Asks switches by SNMP (v2c or v3), by GETBULK.

use std::time::Duration;

use async_snmp::{Auth, Client, Oid, Retry, Value as Got};
use tokio::task::JoinSet;
use tresse_mapping::mib::{self, Row, Value};
use tresse_mapping::table::SwitchTable;

use crate::access::SnmpAccess;

/// How long an answer may take, and how often a request is repeated.
const PATIENCE: Duration = Duration::from_secs(2);
const RETRIES: u32 = 2;
/// Rows in one answer.
const AT_ONCE: u32 = 25;
/// The most rows of one column or table of a switch: more than any forwarding table has.
const MOST_ROWS: usize = 1 << 20;
/// How many switches are asked at a time.
const SWITCHES: usize = 64;

/// What the switches answered.
#[derive(Debug, Default)]
pub struct Asked {
    /// The tables of those that did, sorted by name.
    pub tables: Vec<SwitchTable>,
    /// In words, who did not, and why.
    pub failed: Vec<String>,
}

/// Asks all switches of the file, many at a time.
///
/// # Errors
/// If no thread or socket can be had.
pub fn ask(access: &SnmpAccess) -> std::io::Result<Asked> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut asked = Asked::default();
    let all: Vec<(&String, &String)> = access.switches.iter().collect();
    for some in all.chunks(SWITCHES) {
        runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for (name, address) in some {
                let (name, address) = ((*name).clone(), (*address).clone());
                let auth = access.auth.clone();
                tasks.spawn(async move { (rows(&address, auth).await, name, address) });
            }
            while let Some(Ok((rows, name, address))) = tasks.join_next().await {
                match rows {
                    Ok(rows) if rows.is_empty() => {
                        asked.failed.push(format!(
                            "{name} ({address}): it has neither LLDP-MIB nor BRIDGE-MIB for us"
                        ));
                    }
                    Ok(rows) => asked.tables.push(mib::table(&name, &rows)),
                    Err(error) => {
                        asked.failed.push(format!("{name} ({address}): by SNMP: {error}"))
                    }
                }
            }
        });
    }
    asked.tables.sort_by(|a, b| a.name.cmp(&b.name));
    asked.failed.sort();
    Ok(asked)
}

/// All rows of the tables that are read.
async fn rows(address: &str, auth: Auth) -> Result<Vec<Row>, Box<async_snmp::Error>> {
    let retry = Retry::fixed(RETRIES, Duration::ZERO).expect("the number is small");
    let client = Client::builder(address, auth).request_timeout(PATIENCE).retry(retry);
    let client = client.connect().await?;
    let mut rows = Vec::new();
    for root in mib::ROOTS {
        let mut walk = client.bulk_walk(Oid::from_slice(root), AT_ONCE)?;
        let mut count = 0;
        while let Some(row) = walk.next().await.filter(|_| count < MOST_ROWS) {
            let row = row?;
            count += 1;
            rows.extend(value(row.value).map(|value| Row { oid: row.oid.arcs().to_vec(), value }));
        }
    }
    Ok(rows)
}

fn value(got: Got) -> Option<Value> {
    match got {
        Got::Integer(number) => Some(Value::Number(number.into())),
        Got::Gauge32(number) | Got::Counter32(number) => Some(Value::Number(number.into())),
        Got::OctetString(bytes) => Some(Value::Bytes(bytes.to_vec())),
        _ => None,
    }
}
