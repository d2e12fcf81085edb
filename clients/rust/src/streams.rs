//! Streamed answers and requests.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::time::Sleep;
use tonic::{Code, Streaming};

use crate::activity::Underway;
use crate::calls::late;
use crate::completeness::{Count, Counted};
use crate::error::Error;
use crate::status::to_error;
use crate::telemetry::CallSpan;

/// A streamed answer. What has begun is not repeated: a stream that breaks gives an error, as its last item.
/// Dropping it stops the server from sending.
pub struct ResponseStream<R> {
    inner: Streaming<R>,
    late: Pin<Box<Sleep>>,
    count: Count,
    // Gone at the end.
    span: Option<(CallSpan, Underway)>,
}

impl<R> ResponseStream<R> {
    pub(crate) fn new(inner: Streaming<R>, late: Sleep, span: CallSpan, underway: Underway) -> Self {
        Self { inner, late: Box::pin(late), count: Count::default(), span: Some((span, underway)) }
    }
}

impl<R: Counted + Unpin> ResponseStream<R> {
    /// The next message; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<R, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    fn ended(&mut self, error: Option<Error>) -> Option<Result<R, Error>> {
        let (span, _underway) = self.span.take()?;
        match error {
            None => {
                span.answered(Vec::new());
                None
            }
            Some(error) => {
                let error = error.traced(&span.trace_id());
                span.failed(&error);
                Some(Err(error))
            }
        }
    }
}

impl<R: Counted + Unpin> Stream for ResponseStream<R> {
    type Item = Result<R, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.span.is_none() {
            return Poll::Ready(None);
        }
        if self.late.as_mut().poll(context).is_ready() {
            return Poll::Ready(self.ended(Some(late())));
        }
        let item = ready!(Pin::new(&mut self.inner).poll_next(context));
        Poll::Ready(match item {
            Some(Ok(message)) => {
                message.count(&mut self.count);
                Some(Ok(message))
            }
            Some(Err(status)) => self.ended(Some(to_error(status))),
            None => {
                let missing = self.count.missing().map(|text| Error::of(Code::Unavailable, &text));
                self.ended(missing)
            }
        })
    }
}

impl<R> Drop for ResponseStream<R> {
    fn drop(&mut self) {
        // A reader that stops early has had enough; that is no failure.
        if let Some((span, _underway)) = self.span.take() {
            span.answered(Vec::new());
        }
    }
}

/// A stream whose first item was taken already.
pub(crate) struct FirstTaken<S: Stream> {
    first: Option<S::Item>,
    // `None` for a stream that has ended: it must not be asked again.
    rest: Option<Pin<Box<S>>>,
}

impl<S: Stream> FirstTaken<S> {
    /// Waits for the first item; `None` for a stream without one.
    pub(crate) async fn new(stream: S) -> (Option<S::Item>, Self) {
        let mut rest = Box::pin(stream);
        let first = std::future::poll_fn(|context| rest.as_mut().poll_next(context)).await;
        let rest = first.is_some().then_some(rest);
        (first, Self { first: None, rest })
    }

    pub(crate) fn put_back(mut self, first: S::Item) -> Self {
        self.first = Some(first);
        self
    }
}

impl<S: Stream> Stream for FirstTaken<S>
where
    S::Item: Unpin,
{
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        match (self.first.take(), &mut self.rest) {
            (Some(first), _) => Poll::Ready(Some(first)),
            (None, Some(rest)) => rest.as_mut().poll_next(context),
            (None, None) => Poll::Ready(None),
        }
    }
}
