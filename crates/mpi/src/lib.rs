//! `libtresse_mpi.so`: the collectives of MPI programs over the rings of the plan (big-fat-switches, sections 2, 3 and
//! 6), without a change of the program. Preloaded or linked, it stands before the MPI of the program, whichever that
//! is, and takes the large collectives; everything else goes on to that MPI.
//!
//! Bytes go over TCP connections of its own, one to the next rank of each ring: so it needs of MPI only what all MPIs
//! have, and no thread of the program has to call MPI for bytes to move.

mod abi;
mod area;
mod arithmetic;
mod board;
mod call;
mod calls;
mod collective;
mod context;
mod exports;
mod flow;
pub mod fuzz;
mod job;
mod layout;
mod order;
mod peers;
mod queue;
mod real;
mod record;
mod reduction;
mod requests;
mod rings;
mod room;
mod said;
mod settings;
mod threads;
mod values;
mod wire;
mod world;
