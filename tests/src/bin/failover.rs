//! `tests/failover.sh`: how long failures last, by fabric and kind of fault, as a table.

use std::process::ExitCode;

use tresse_tests::failover::{Fabric, measure};

/// Those that every kernel has.
const FABRICS: [Fabric<'_>; 3] = [
    Fabric { name: "P-Mesh 3x3", topology: "kind = \"pmesh\", dims = [3, 3]", every: 3 },
    Fabric {
        name: "flat neighbourhood, 6 nodes",
        topology: "kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 2 3 4\\n2: 4 5 0\\n3: 1 3 5\\n\"",
        every: 2,
    },
    Fabric {
        name: "direct torus 3x3",
        topology: "kind = \"direct-torus\", dims = [3, 3]",
        every: 6,
    },
];

fn main() -> ExitCode {
    let interval: u16 = std::env::args().nth(1).and_then(|ms| ms.parse().ok()).unwrap_or(100);
    println!("BFD interval {interval} ms x 3, one datagram a millisecond, all in ms\n");
    println!("| fabric | fault | pairs | median | worst | limit |\n|---|---|---|---|---|---|");
    for fabric in FABRICS {
        match measure(&fabric, interval) {
            Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
            Err(words) => {
                eprintln!("failover: {}: {words}", fabric.name);
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
