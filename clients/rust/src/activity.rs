//! The calls under way, for `close` to wait for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::error::Error;

#[derive(Default)]
struct State {
    count: usize,
    closed: bool,
}

#[derive(Default)]
pub(crate) struct Activity {
    state: Mutex<State>,
    idle: Notify,
}

/// A call under way, until it is dropped.
pub(crate) struct Underway(Arc<Activity>);

impl Activity {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins, unless the client is closed.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Underway, Error> {
        let mut state = self.state();
        if state.closed {
            return Err(Error::closed());
        }
        state.count += 1;
        Ok(Underway(Arc::clone(self)))
    }

    /// Refuses new calls, and waits for those under way.
    pub(crate) async fn close(&self, timeout: Duration) {
        let _ = tokio::time::timeout(timeout, async {
            loop {
                let idle = self.idle.notified();
                {
                    let mut state = self.state();
                    state.closed = true;
                    if state.count == 0 {
                        return;
                    }
                }
                idle.await;
            }
        })
        .await;
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.count -= 1;
        if state.count == 0 {
            self.0.idle.notify_waiters();
        }
    }
}
