use tresse_routing::updown::Updown;
use tresse_routing::{Balance, SwitchDemand};
use tresse_topology::Graph;
fn main() {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap();
        let (n, edges): (usize, Vec<(u32, u32)>) = {
            let mut lines = text.lines();
            let n = lines.next().unwrap().parse().unwrap();
            (
                n,
                lines
                    .map(|l| {
                        let mut w = l.split(' ');
                        (w.next().unwrap().parse().unwrap(), w.next().unwrap().parse().unwrap())
                    })
                    .collect(),
            )
        };
        let graph = Graph::from_edges(n, &edges);
        let nodes = vec![1; n];
        let none = vec![0; n];
        for (what, transit) in [("updown", &none), ("transit", &nodes)] {
            let demand = SwitchDemand::new(&graph, &nodes, transit);
            let Ok((order, d, routes)) = Updown::routes(&graph, None, &demand) else { continue };
            let ours = routes.cost(&d).0;
            let best = (0..n as u32)
                .map(|r| {
                    let (_, d, routes) =
                        Updown::routes(&graph, Some(tresse_base::id::SwitchId(r)), &demand)
                            .unwrap();
                    (routes.cost(&d).0, r)
                })
                .min()
                .unwrap();
            println!(
                "{file} {what} root {} load {ours}; best {} by {}: {:.3}",
                order.root(),
                best.0,
                best.1,
                ours as f64 / best.0 as f64
            );
        }
    }
}
