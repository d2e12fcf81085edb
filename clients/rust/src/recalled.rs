//! The answer to a recall.

use std::ops::Deref;

use opentelemetry::Context;
use opentelemetry::trace::SpanContext;

use crate::telemetry;
use crate::v1::RecallResponse;

/// The answer to a recall: the message, and the span that it was made in.
#[derive(Clone, Debug)]
pub struct Recalled {
    response: RecallResponse,
    span: SpanContext,
}

impl Recalled {
    pub(crate) fn new(response: RecallResponse, span: SpanContext) -> Self {
        Self { response, span }
    }

    /// The message itself.
    pub fn into_inner(self) -> RecallResponse {
        self.response
    }

    /// The block for a prompt; `None` when the recall was made without a token budget.
    pub fn context(&self) -> Option<&str> {
        self.response.packed_context.as_ref().map(|packed| packed.text.as_str())
    }

    /// Ids of all memories, best first.
    pub fn memory_ids(&self) -> Vec<String> {
        self.response
            .memories
            .iter()
            .map(|each| each.memory.as_ref().map(|memory| memory.memory_id.clone()).unwrap_or_default())
            .collect()
    }

    /// Ids that stand in the packed context in its order, or of all memories if none was packed.
    pub fn prompt_memory_ids(&self) -> Vec<String> {
        match &self.response.packed_context {
            Some(packed) => packed.memory_ids.clone(),
            None => self.memory_ids(),
        }
    }

    /// Writes onto the span of a model call, the active one of `target`, which memories entered its prompt, and
    /// links it to the span of the recall. At most 50 ids are written, the number of the others as
    /// `muniment.recall.memory.omitted`.
    pub fn stamp(&self, target: &Context, memory_ids: &[String]) {
        telemetry::stamp(target, &self.response.recall_id, memory_ids, &self.span);
    }
}

impl Deref for Recalled {
    type Target = RecallResponse;

    fn deref(&self) -> &RecallResponse {
        &self.response
    }
}
