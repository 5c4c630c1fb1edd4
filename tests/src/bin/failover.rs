//! Measures for how long traffic is interrupted by a failure, by fabric and kind of fault, and prints a
//! table: `failover [INTERVAL_MS [ours|p-mesh|flat|direct|ospf|openfabric|several|vlans]...]`. `INTERVAL_MS` is
//! BFD's interval; the words choose fabrics and routers. `tests/failover.sh` runs the program. Fabrics
//! with VLANs (`vlans`) are measured in the virtual machine if this kernel lacks VLANs.

use std::process::ExitCode;

use tresse_tests::failover::{Fabric, Protocol, Router, measure};

const P_MESH: Fabric<'_> = Fabric {
    name: "P-Mesh 3x3",
    topology: "kind = \"pmesh\", dims = [3, 3]",
    rest: "",
    every: 1,
    pairs: 12,
    sets: 0,
};
const FLAT: Fabric<'_> = Fabric {
    name: "flat neighbourhood, 6 nodes",
    topology: "kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 2 3 4\\n2: 4 5 0\\n3: 1 3 5\\n\"",
    ..P_MESH
};
const DIRECT: Fabric<'_> = Fabric {
    name: "direct torus 3x3",
    topology: "kind = \"direct-torus\", dims = [3, 3]",
    // A cable has two NICs.
    every: 2,
    ..P_MESH
};
const TORUS: Fabric<'_> = Fabric {
    name: "torus 3x3, two NICs (VLANs)",
    topology: "kind = \"torus\", dims = [3, 3], nics_per_node = 2",
    rest: "[routing]\nstrategy = \"dor\"\npaths = 2\n",
    every: 6,
    pairs: 4,
    ..P_MESH
};
const IRREGULAR: Fabric<'_> = Fabric {
    name: "irregular, 8 switches (labels)",
    topology: "kind = \"irregular\", switches = 8, nodes_per_switch = 1, ports = 5, seed = 1",
    rest: "[routing]\nstrategy = \"transit\"\npaths = 2\n",
    every: 4,
    pairs: 4,
    ..P_MESH
};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(interval) = args.next().unwrap_or_else(|| "100".into()).parse().ok() else {
        return usage();
    };
    let mut runs: Vec<(Fabric<'_>, Router)> = Vec::new();
    let few = |fabric: Fabric<'static>| Fabric { every: 9, ..fabric };
    for what in args {
        match &*what {
            "ours" => runs.extend([P_MESH, FLAT, DIRECT].map(|fabric| (fabric, Router::Tresse))),
            "p-mesh" => runs.push((P_MESH, Router::Tresse)),
            "flat" => runs.push((FLAT, Router::Tresse)),
            "direct" => runs.push((DIRECT, Router::Tresse)),
            "vlans" => runs.extend([TORUS, IRREGULAR].map(|fabric| (fabric, Router::Tresse))),
            "ospf" => {
                let router = Router::Frr(Protocol::Ospf);
                runs.extend([P_MESH, FLAT, DIRECT].map(|fabric| (few(fabric), router)));
            }
            "several" => {
                // The single faults have a table of their own.
                let sets =
                    |fabric: Fabric<'static>| Fabric { every: usize::MAX, sets: 20, ..fabric };
                for router in [Router::Tresse, Router::Frr(Protocol::Ospf)] {
                    runs.extend([P_MESH, DIRECT].map(|fabric| (sets(fabric), router)));
                }
            }
            "openfabric" => runs.push((few(DIRECT), Router::Frr(Protocol::OpenFabric))),
            _ => return usage(),
        }
    }
    println!("BFD interval {interval} ms x 3, one datagram a millisecond, all in ms\n");
    println!("| fabric | router | fault | pairs | median | worst | limit |");
    println!("|---|---|---|---|---|---|---|");
    let mut code = ExitCode::SUCCESS;
    for (fabric, router) in runs {
        match measure(&fabric, router, interval) {
            Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
            Err(words) => {
                eprintln!("failover: {}: {words}", fabric.name);
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: failover [INTERVAL_MS [ours|p-mesh|flat|direct|ospf|openfabric|several|vlans]...]"
    );
    ExitCode::from(2)
}
