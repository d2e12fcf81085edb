//! Repetition of calls: what other runtimes do by themselves from the contract's service config, and waiting as
//! long as the service asks.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tonic::{Code, Status};

use crate::error::Error;
use crate::service_config::{
    BACKOFF_MULTIPLIER, INITIAL_BACKOFF, MAX_ATTEMPTS, MAX_BACKOFF, MAX_TOKENS, TOKEN_RATIO,
};

/// Rounds of one call, the first included; as many as the service config has attempts. What RetryInfo asks for
/// begins another round.
const ROUNDS: u32 = MAX_ATTEMPTS;
const SPREAD: f64 = 0.25;
const LEAST: Duration = Duration::from_millis(20);
const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// The retry throttle of one client (gRFC A6): a server that keeps failing is not asked twice.
pub(crate) struct Throttle(Mutex<f64>);

impl Throttle {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(MAX_TOKENS))
    }

    fn change(&self, by: f64) -> f64 {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *tokens = (*tokens + by).clamp(0.0, MAX_TOKENS);
        *tokens
    }

    pub(crate) fn succeeded(&self) {
        self.change(TOKEN_RATIO);
    }

    fn failed(&self) -> bool {
        self.change(-1.0) > MAX_TOKENS / 2.0
    }
}

/// The attempts of one round.
pub(crate) struct Attempts {
    made: u32,
    backoff: f64,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        Self { made: 0, backoff: INITIAL_BACKOFF }
    }

    /// How long to wait before another attempt, or `None` to give up. `code`: what the attempt ended with.
    pub(crate) fn delay(&mut self, code: Code, status: &Status, throttle: &Throttle) -> Option<Duration> {
        self.made += 1;
        let pushback = status.metadata().get(PUSHBACK).map(|value| {
            value.to_str().ok().and_then(|text| text.parse::<i64>().ok()).and_then(|ms| u64::try_from(ms).ok())
        });
        if code != Code::Unavailable {
            // A pushback that forbids counts against the throttle whatever the status.
            if pushback == Some(None) {
                throttle.failed();
            }
            return None;
        }
        if !throttle.failed() || self.made >= MAX_ATTEMPTS {
            return None;
        }
        match pushback {
            Some(None) => None,
            Some(Some(asked)) => {
                self.backoff = INITIAL_BACKOFF;
                Some(Duration::from_millis(asked))
            }
            None => {
                let wait = self.backoff * (0.8 + 0.4 * random());
                self.backoff = (self.backoff * BACKOFF_MULTIPLIER).min(MAX_BACKOFF);
                Some(Duration::from_secs_f64(wait))
            }
        }
    }
}

/// How long to wait before another round, or `None` to give up.
pub(crate) fn round_delay(failure: &Error, rounds: u32, remaining: Duration) -> Option<Duration> {
    if failure.code() != Code::Unavailable || rounds >= ROUNDS {
        return None;
    }
    // Upwards only: callers that were refused together must not come back together, nor too early.
    let wait = failure.retry_after()?.mul_f64(1.0 + SPREAD * random());
    (wait + LEAST < remaining).then_some(wait)
}

/// From 0 to 1.
fn random() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness the waits are merely even.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

/// A new request id: a UUID of version 4.
pub(crate) fn request_id() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Error::of(Code::Internal, "the system gives no random numbers"))?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unavailable(pushback: Option<&'static str>) -> Status {
        let mut status = Status::unavailable("down");
        if let Some(text) = pushback {
            status.metadata_mut().insert(PUSHBACK, text.parse().unwrap());
        }
        status
    }

    #[test]
    fn attempts_grow_and_end() {
        let throttle = Throttle::new();
        let mut attempts = Attempts::new();
        let mut next = || attempts.delay(Code::Unavailable, &unavailable(None), &throttle);
        for expected in [0.1, 0.2, 0.4] {
            let wait = next().unwrap().as_secs_f64();
            assert!((0.79 * expected..=1.21 * expected).contains(&wait), "{wait}");
        }
        assert_eq!(next(), None);
    }

    #[test]
    fn pushback_says_when_or_never() {
        let throttle = Throttle::new();
        let delay = |text| Attempts::new().delay(Code::Unavailable, &unavailable(Some(text)), &throttle);
        assert_eq!(delay("300"), Some(Duration::from_millis(300)));
        assert_eq!(delay("-1"), None);
        assert_eq!(delay("soon"), None);
    }

    #[test]
    fn only_unavailable_is_repeated() {
        let throttle = Throttle::new();
        for code in [Code::DeadlineExceeded, Code::Internal, Code::ResourceExhausted, Code::Aborted] {
            assert_eq!(Attempts::new().delay(code, &Status::new(code, ""), &throttle), None);
        }
    }

    #[test]
    fn a_server_that_keeps_failing_is_throttled() {
        let throttle = Throttle::new();
        let tries = (0..20)
            .filter(|_| Attempts::new().delay(Code::Unavailable, &unavailable(None), &throttle).is_some())
            .count();
        assert_eq!(tries, 4);
        for _ in 0..70 {
            throttle.succeeded();
        }
        assert!(Attempts::new().delay(Code::Unavailable, &unavailable(None), &throttle).is_some());
    }

    #[test]
    fn request_ids_are_uuids() {
        let id = request_id().unwrap();
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert_ne!(id, request_id().unwrap());
    }
}
