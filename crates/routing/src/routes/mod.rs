//! Finds a shortest route from every switch to every other, balanced over the channels (directions of links). A legal
//! up*/down* route goes up zero or more channels, then down zero or more (in-transit-buffers, section 2). At a switch
//! with transit nodes a route may go up again after down: a transit node takes the frame in and sends it on, which loads
//! its own link in both directions (section 3).
//!
//! [`search`] lays the routes of one source after the other, [`relieve`](mod@relieve) moves single routes off the most
//! loaded links.

mod bound;
mod demand;
mod lanes;
mod relieve;
mod search;
mod switch_routes;
#[cfg(test)]
mod tests;
mod wanted;

pub use bound::least_cost;
pub use demand::SwitchDemand;
pub(crate) use lanes::on_lanes;
pub(crate) use relieve::{balanced, relieve};
pub(crate) use switch_routes::State;
pub use switch_routes::{RouteSetCost, SwitchRoutes};
pub(crate) use wanted::{copy_lanes, longest_first, without_pairs};
