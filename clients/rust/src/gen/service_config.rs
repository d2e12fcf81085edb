// Generated from proto/muniment/v1/muniment_grpc_service_config.json by `make generate`. Do not edit.

/// Attempts of one call, the first included.
pub const MAX_ATTEMPTS: u32 = 4;
/// Seconds before the second attempt.
pub const INITIAL_BACKOFF: f64 = 0.1;
/// The most seconds before an attempt.
pub const MAX_BACKOFF: f64 = 1.0;
/// What the wait grows by from attempt to attempt.
pub const BACKOFF_MULTIPLIER: f64 = 2.0;
/// Tokens of the retry throttle when it is full.
pub const MAX_TOKENS: f64 = 10.0;
/// Tokens that a call that succeeds gives back.
pub const TOKEN_RATIO: f64 = 0.1;
