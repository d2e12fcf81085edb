//! Rust client of Muniment, the memory service for agent fleets.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use muniment::{Client, fact, subject, v1::RecallRequest};
//!
//! let client = Client::builder().target("127.0.0.1:7443").tenant("dev").api_key("key").build()?;
//! client.write(muniment::write(subject("ada"), [fact("Ada drinks green tea.")])).await?;
//! let recalled = client
//!     .recall(RecallRequest {
//!         scope: Some(subject("ada")),
//!         query: "What can I offer Ada to drink?".into(),
//!         token_budget: Some(500),
//!         ..RecallRequest::default()
//!     })
//!     .await?;
//! println!("{}", recalled.context().unwrap_or_default());
//! # Ok(())
//! # }
//! ```
//!
//! Requests and answers are the messages of the contract, in [`v1`]. [`Client`] adds what a call needs:
//! credentials, deadlines, request ids, repetition, traces, errors, and the consistency token.

mod activity;
mod calls;
mod client;
mod completeness;
mod error;
mod messages;
mod methods;
mod model_call;
mod pages;
mod recalled;
mod retry;
mod settings;
mod status;
mod streams;
mod target;
mod telemetry;
mod tls;

#[allow(clippy::all, rustdoc::all)]
#[rustfmt::skip]
#[path = "gen/muniment.v1.rs"]
/// The messages of the contract, and its generated clients. Generated code.
pub mod v1;

#[rustfmt::skip]
#[path = "gen/service_config.rs"]
mod service_config;

pub use client::Client;
pub use error::{Error, FieldViolation};
pub use messages::{attributes, duration, embedding, fact, item, property, space, subject, timestamp, write};
pub use model_call::ModelCall;
pub use pages::{Page, Pages};
pub use recalled::Recalled;
pub use settings::{ClientBuilder, ConfigError, Deadlines};
pub use streams::ResponseStream;
pub use tls::Tls;
pub use tonic::Code;

/// What a source of credentials or a model call may fail with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;
