//! Rust client of Muniment, the memory service for agent fleets.
