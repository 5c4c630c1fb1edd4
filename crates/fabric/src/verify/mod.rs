//! Proofs about a plan, each with a witness where it fails (DESIGN section 4).
