//! Whether the library has what programs look for in it. Cargo builds `libtresse_mpi.so` for this test.

use std::collections::BTreeSet;
use std::fs;

/// Where the functions are declared: `MPI_Barrier PMPI_Barrier(...)`, `MPI_Bcast PMPI_Bcast bcast;`.
const SOURCES: [&str; 2] =
    [include_str!("../src/exports/mod.rs"), include_str!("../src/exports/collectives.rs")];

#[test]
fn each_function_is_exported_by_both_names() {
    let program = std::env::current_exe().unwrap();
    let library = fs::read(program.with_file_name("libtresse_mpi.so")).unwrap();
    // Names of symbols are texts that end with a zero byte.
    let names: BTreeSet<&[u8]> = library.split(|byte| *byte == 0).collect();
    let mut functions = 0;
    for line in SOURCES.iter().flat_map(|source| source.lines()) {
        let mut words = line.trim_start().split(['(', ' ']);
        let (Some(mpi), Some(pmpi)) = (words.next(), words.next()) else { continue };
        if !mpi.starts_with("MPI") || !pmpi.starts_with("PMPI") {
            continue;
        }
        functions += 1;
        assert_eq!(pmpi, format!("P{mpi}"));
        for name in [mpi, pmpi] {
            assert!(names.contains(name.as_bytes()), "{name} is not in libtresse_mpi.so");
        }
    }
    assert!(functions > 40, "{functions} functions");
}
