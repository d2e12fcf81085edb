//! Tests of the client: against a peer that says what a test wants, and against the service itself.

mod calls;
mod peer;
mod server;
mod traces;
