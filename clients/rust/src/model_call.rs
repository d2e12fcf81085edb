//! The model call that recalled memories go into: its span says which, and the service hears which.

use std::future::Future;

use opentelemetry::trace::{FutureExt, Status, TraceContextExt};
use opentelemetry::{Context, KeyValue};

use crate::client::Client;
use crate::error::Error;
use crate::recalled::Recalled;
use crate::telemetry::{ERROR_TYPE, stamp_attributes};
use crate::v1::{ReportUseRequest, UseOutcome};

/// One call of a model; made by [`Client::model_call`].
///
/// ```no_run
/// # async fn example(client: muniment::Client, recalled: muniment::Recalled) -> Result<(), muniment::Error> {
/// # async fn ask() -> Result<String, muniment::Error> { Ok(String::new()) }
/// let (answer, not_reported) = client.model_call(&[&recalled]).model("some-model").run(ask()).await?;
/// # Ok(())
/// # }
/// ```
///
/// The span of the model call is stamped with the ids of the memories and linked to the recall: the current one,
/// or, when none is recorded, a new one. Nothing is reported until [`report`](ModelCall::report): a model call
/// that fails, and is dropped, used nothing.
#[must_use]
pub struct ModelCall {
    client: Client,
    recalls: Vec<Recalled>,
    /// Memories used, recall by recall.
    used: Vec<Vec<String>>,
    span: Context,
    own: bool,
    outcome: UseOutcome,
    model: String,
    prompt_ref: String,
}

impl ModelCall {
    pub(crate) fn new(client: Client, recalls: &[&Recalled]) -> Self {
        let current = Context::current();
        let own = !current.span().is_recording();
        let span = if own { client.telemetry().model_call() } else { current };
        let call = Self {
            client,
            used: recalls.iter().map(|each| each.prompt_memory_ids()).collect(),
            recalls: recalls.iter().map(|each| (*each).clone()).collect(),
            span,
            own,
            outcome: UseOutcome::Unspecified,
            model: String::new(),
            prompt_ref: String::new(),
        };
        call.stamp(&call.span);
        call
    }

    /// Name of the model that is prompted.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = name.into();
        self
    }

    /// Your pointer to the prompt; it stays in the audit trail in clear: no personal data.
    pub fn prompt_ref(mut self, reference: impl Into<String>) -> Self {
        self.prompt_ref = reference.into();
        self
    }

    /// What the memories did for the prompt.
    pub fn outcome(mut self, outcome: UseOutcome) -> Self {
        self.outcome = outcome;
        self
    }

    /// States which memories really entered the prompt, in their order there; may be none. Not called: those of
    /// the packed contexts, or everything where none was packed.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT for a memory that no recall of this call offered.
    pub fn use_memories<I>(mut self, memory_ids: I) -> Result<Self, Error>
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let mut used = vec![Vec::new(); self.recalls.len()];
        for memory_id in memory_ids {
            let memory_id = memory_id.into();
            let offered = self.recalls.iter().position(|each| each.memory_ids().contains(&memory_id));
            let Some(place) = offered else {
                let text = format!("holds {memory_id}, which was not offered by this recall");
                return Err(Error::invalid("memory_ids", "memory_ids.offered", &text));
            };
            if !used[place].contains(&memory_id) {
                used[place].push(memory_id);
            }
        }
        self.used = used;
        self.write_ids(&self.span);
        Ok(self)
    }

    /// The memories that will be reported.
    pub fn memory_ids(&self) -> Vec<String> {
        self.used.concat()
    }

    /// The context whose active span is that of the model call.
    pub fn context(&self) -> &Context {
        &self.span
    }

    /// Says it on one more span, the active one of `target`.
    pub fn stamp(&self, target: &Context) {
        for (recalled, ids) in self.recalls.iter().zip(&self.used) {
            recalled.stamp(target, ids);
        }
        self.write_ids(target);
    }

    fn write_ids(&self, target: &Context) {
        let span = target.span();
        if let Some(first) = self.recalls.first().filter(|_| span.is_recording()) {
            span.set_attributes(stamp_attributes(&first.recall_id, &self.memory_ids()));
        }
    }

    /// Runs the model call inside its span, and reports when it succeeds. The second value says why the report was
    /// not recorded: losing the model's answer would be worse.
    ///
    /// # Errors
    ///
    /// That of the model call; then nothing is reported.
    pub async fn run<T, E>(self, body: impl Future<Output = Result<T, E>>) -> Result<(T, Option<Error>), E> {
        let answer = body.with_context(self.span.clone()).await?;
        Ok((answer, self.report().await.err()))
    }

    /// Reports what was used, and ends the span if it is an own one.
    ///
    /// # Errors
    ///
    /// When the report was not recorded.
    pub async fn report(mut self) -> Result<(), Error> {
        let mut result = Ok(());
        for (recalled, ids) in self.recalls.iter().zip(&self.used) {
            let request = ReportUseRequest {
                recall_id: recalled.recall_id.clone(),
                memory_ids: ids.clone(),
                outcome: self.outcome.into(),
                model: self.model.clone(),
                prompt_ref: self.prompt_ref.clone(),
                request_id: String::new(),
            };
            let reported = self.client.report_use(request).with_context(self.span.clone()).await;
            result = result.and(reported.map(|_| ()));
        }
        if std::mem::take(&mut self.own) {
            self.span.span().end();
        }
        result
    }
}

impl Drop for ModelCall {
    fn drop(&mut self) {
        if self.own {
            let span = self.span.span();
            span.set_attribute(KeyValue::new(ERROR_TYPE, "_OTHER"));
            span.set_status(Status::error(""));
            span.end();
        }
    }
}
