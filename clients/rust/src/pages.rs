//! Lists that the service answers page by page.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::error::Error;

/// One page of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// What it holds.
    pub items: Vec<T>,
    /// Empty for the last page.
    pub next_page_token: String,
    /// Memories of this page left out because somebody changed them in the database.
    pub seal_broken_memory_ids: Vec<String>,
}

type Fetching<T> = Pin<Box<dyn Future<Output = Result<Page<T>, Error>> + Send>>;
type Fetch<T> = Box<dyn Fn(String) -> Fetching<T> + Send + Sync>;

/// All items of a list, read page by page: a stream of items, or [`next_page`](Pages::next_page) by page. It ends
/// with the first error.
pub struct Pages<T> {
    fetch: Fetch<T>,
    fetching: Option<Fetching<T>>,
    items: VecDeque<T>,
    /// `None` after the last page.
    token: Option<String>,
    seal_broken: Vec<String>,
}

impl<T: Unpin> Pages<T> {
    pub(crate) fn new(fetch: impl Fn(String) -> Fetching<T> + Send + Sync + 'static) -> Self {
        Self {
            fetch: Box::new(fetch),
            fetching: None,
            items: VecDeque::new(),
            token: Some(String::new()),
            seal_broken: Vec::new(),
        }
    }

    /// The next item; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The next page, without what was read of it already; `None` at the end.
    pub async fn next_page(&mut self) -> Option<Result<Page<T>, Error>> {
        std::future::poll_fn(|context| self.poll_page(context)).await
    }

    /// Everything in one list.
    ///
    /// # Errors
    ///
    /// Of the page that could not be read.
    pub async fn all(mut self) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        while let Some(page) = self.next_page().await {
            all.extend(page?.items);
        }
        Ok(all)
    }

    /// Memories left out so far, because somebody changed them in the database.
    pub fn seal_broken_memory_ids(&self) -> &[String] {
        &self.seal_broken
    }

    fn poll_page(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Page<T>, Error>>> {
        let Some(token) = &self.token else {
            return Poll::Ready(None);
        };
        let fetching = self.fetching.get_or_insert_with(|| (self.fetch)(token.clone()));
        let page = ready!(fetching.as_mut().poll(context));
        self.fetching = None;
        self.token = None;
        if let Ok(page) = &page {
            self.seal_broken.extend(page.seal_broken_memory_ids.iter().cloned());
            self.token = Some(page.next_page_token.clone()).filter(|token| !token.is_empty());
        }
        Poll::Ready(Some(page))
    }
}

impl<T: Unpin> Stream for Pages<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(self.poll_page(context)) {
                Some(Ok(page)) => self.items = page.items.into(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}
