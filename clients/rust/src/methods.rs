//! The methods of the contract: deadline, and what a trace says about a call of them.

use std::time::Duration;

use opentelemetry::KeyValue;
use prost::Message;

use crate::settings::Deadlines;
use crate::v1::erasure_target::Target;
use crate::v1::*;

pub(crate) const RECALL_ID: &str = "muniment.recall.id";

const RECORD_ID: &str = "gen_ai.memory.record.id";
const RECORD_COUNT: &str = "gen_ai.memory.record.count";
const AGENT_ID: &str = "gen_ai.agent.id";
const CONVERSATION_ID: &str = "gen_ai.conversation.id";
const REQUEST_ID: &str = "muniment.request.id";
const SUPERSEDE_NEW_ID: &str = "muniment.supersede.new_id";
const ERASURE_ID: &str = "muniment.erasure.id";

/// Attributes of a span.
pub(crate) type Attributes = Vec<KeyValue>;

/// One method, known by its request.
pub(crate) trait Method: Message + Clone + Default + 'static {
    type Response: Message + Default + Send + 'static;

    /// Fully qualified, with a leading slash.
    const PATH: &'static str;
    /// Operation of the GenAI memory conventions; `None` for methods that are none.
    const OPERATION: Option<&'static str> = None;

    fn deadline(times: &Deadlines) -> Duration;

    /// The request id, to be filled in.
    fn request_id(&mut self) -> Option<&mut String> {
        None
    }

    /// Attributes known before the call.
    fn describe(&self, _to: &mut Attributes) {}

    /// Attributes known from the answer.
    fn describe_response(_response: &Self::Response, _to: &mut Attributes) {}

    /// The consistency token of a write.
    fn token(_response: &Self::Response) -> Option<&ConsistencyToken> {
        None
    }
}

macro_rules! method {
    ($service:literal, $name:literal, $request:ty => $response:ty, $deadline:ident $(, { $($item:tt)* })?) => {
        impl Method for $request {
            type Response = $response;

            const PATH: &'static str = concat!("/muniment.v1.", $service, "/", $name);

            fn deadline(times: &Deadlines) -> Duration {
                times.$deadline
            }

            $($($item)*)?
        }
    };
}

/// What a changing method has: an operation, a request id, a token.
macro_rules! write {
    () => {
        fn request_id(&mut self) -> Option<&mut String> {
            Some(&mut self.request_id)
        }

        fn token(response: &Self::Response) -> Option<&ConsistencyToken> {
            response.consistency_token.as_ref()
        }
    };
}

// Upsert, not create: a write may reinforce or supersede what is there.
const UPSERT: Option<&str> = Some("upsert_memory");
const UPDATE: Option<&str> = Some("update_memory");

method!("MemoryService", "Write", WriteRequest => WriteResponse, write, {
    const OPERATION: Option<&'static str> = UPSERT;
    write!();

    fn describe(&self, to: &mut Attributes) {
        narrowing(self.scope.as_ref(), to);
        to.push(count(self.items.len()));
        to.push(request(&self.request_id));
    }
});

method!("MemoryService", "Recall", RecallRequest => RecallResponse, recall, {
    const OPERATION: Option<&'static str> = Some("search_memory");

    fn describe(&self, to: &mut Attributes) {
        narrowing(self.scope.as_ref(), to);
    }

    fn describe_response(response: &RecallResponse, to: &mut Attributes) {
        to.push(count(response.memories.len()));
        to.push(KeyValue::new(RECALL_ID, response.recall_id.clone()));
    }
});

method!("MemoryService", "Supersede", SupersedeRequest => SupersedeResponse, supersede, {
    const OPERATION: Option<&'static str> = UPDATE;
    write!();

    fn describe(&self, to: &mut Attributes) {
        one(&self.memory_id, &self.request_id, to);
    }

    fn describe_response(response: &SupersedeResponse, to: &mut Attributes) {
        if let Some(memory) = &response.memory {
            to.push(KeyValue::new(SUPERSEDE_NEW_ID, memory.memory_id.clone()));
        }
    }
});

method!("MemoryService", "Erase", EraseRequest => EraseResponse, erase, {
    const OPERATION: Option<&'static str> = Some("delete_memory");

    fn request_id(&mut self) -> Option<&mut String> {
        Some(&mut self.request_id)
    }

    fn describe(&self, to: &mut Attributes) {
        if let Some(Target::Memories(named)) = self.target.as_ref().and_then(|target| target.target.as_ref())
            && let [only] = named.memory_ids.as_slice()
        {
            to.push(KeyValue::new(RECORD_ID, only.clone()));
        }
        to.push(request(&self.request_id));
    }

    fn describe_response(response: &EraseResponse, to: &mut Attributes) {
        if let Some(receipt) = &response.receipt {
            to.push(KeyValue::new(RECORD_COUNT, receipt.counts.unwrap_or_default().memories));
            if !receipt.erasure_id.is_empty() {
                to.push(KeyValue::new(ERASURE_ID, receipt.erasure_id.clone()));
            }
        }
    }

    fn token(response: &EraseResponse) -> Option<&ConsistencyToken> {
        // A dry run has written nothing.
        let dry = response.receipt.as_ref().is_some_and(|receipt| receipt.validate_only);
        response.consistency_token.as_ref().filter(|_| !dry)
    }
});

method!("MemoryService", "GetErasure", GetErasureRequest => GetErasureResponse, other);
method!("MemoryService", "GetMemory", GetMemoryRequest => GetMemoryResponse, other);
method!("MemoryService", "ListMemories", ListMemoriesRequest => ListMemoriesResponse, other);

method!("MemoryService", "ReportUse", ReportUseRequest => ReportUseResponse, other, {
    write!();

    fn describe(&self, to: &mut Attributes) {
        to.push(KeyValue::new(RECALL_ID, self.recall_id.clone()));
        to.push(request(&self.request_id));
    }
});

method!("MemoryService", "Ingest", IngestRequest => IngestResponse, ingest, {
    const OPERATION: Option<&'static str> = UPSERT;
    write!();

    fn describe(&self, to: &mut Attributes) {
        narrowing(self.scope.as_ref(), to);
        to.push(count(self.turns.len()));
        to.push(request(&self.request_id));
    }
});

method!("MemoryService", "StreamIngest", StreamIngestRequest => StreamIngestResponse, export, {
    const OPERATION: Option<&'static str> = UPSERT;
    write!();

    fn describe(&self, to: &mut Attributes) {
        to.push(request(&self.request_id));
    }
});

method!("MemoryService", "GetIngest", GetIngestRequest => GetIngestResponse, other);

method!("MemoryService", "Restore", RestoreRequest => RestoreResponse, supersede, {
    const OPERATION: Option<&'static str> = UPDATE;
    write!();

    fn describe(&self, to: &mut Attributes) {
        one(&self.memory_id, &self.request_id, to);
    }
});

method!("MemoryService", "Retract", RetractRequest => RetractResponse, supersede, {
    const OPERATION: Option<&'static str> = UPDATE;
    write!();

    fn describe(&self, to: &mut Attributes) {
        one(&self.memory_id, &self.request_id, to);
    }
});

method!("MemoryService", "UndoWrite", UndoWriteRequest => UndoWriteResponse, supersede, {
    const OPERATION: Option<&'static str> = UPDATE;
    write!();

    fn describe(&self, to: &mut Attributes) {
        to.push(request(&self.request_id));
    }

    fn describe_response(response: &UndoWriteResponse, to: &mut Attributes) {
        to.push(count(response.memories.len()));
    }
});

method!("MemoryService", "Audit", AuditRequest => AuditResponse, other);
method!("AuditService", "GetRecall", GetRecallRequest => GetRecallResponse, other);
method!("AuditService", "ExportAudit", ExportAuditRequest => ExportAuditResponse, export);
method!("ReviewService", "ListReviews", ListReviewsRequest => ListReviewsResponse, other);

method!("ReviewService", "DecideReview", DecideReviewRequest => DecideReviewResponse, supersede, {
    const OPERATION: Option<&'static str> = UPDATE;
    write!();

    fn describe(&self, to: &mut Attributes) {
        one(&self.memory_id, &self.request_id, to);
    }
});

method!("SubjectService", "SetConsent", SetConsentRequest => SetConsentResponse, erase, {
    write!();

    fn describe(&self, to: &mut Attributes) {
        to.push(request(&self.request_id));
    }
});

method!("SubjectService", "GetConsent", GetConsentRequest => GetConsentResponse, other);
method!("SubjectService", "DescribeSubject", DescribeSubjectRequest => DescribeSubjectResponse, other);
method!("SubjectService", "ExportMemories", ExportMemoriesRequest => ExportMemoriesResponse, export);

method!("SubjectService", "ImportMemories", ImportMemoriesRequest => ImportMemoriesResponse, ingest, {
    const OPERATION: Option<&'static str> = UPSERT;
    write!();

    fn describe(&self, to: &mut Attributes) {
        to.push(count(self.records.len()));
        to.push(request(&self.request_id));
    }
});

fn narrowing(scope: Option<&Scope>, to: &mut Attributes) {
    if let Some(agent) = scope.and_then(|scope| scope.agent.clone()) {
        to.push(KeyValue::new(AGENT_ID, agent));
    }
    if let Some(session) = scope.and_then(|scope| scope.session.clone()) {
        to.push(KeyValue::new(CONVERSATION_ID, session));
    }
}

fn count(number: usize) -> KeyValue {
    KeyValue::new(RECORD_COUNT, i64::try_from(number).unwrap_or(i64::MAX))
}

fn request(id: &str) -> KeyValue {
    KeyValue::new(REQUEST_ID, id.to_owned())
}

fn one(memory_id: &str, request_id: &str, to: &mut Attributes) {
    to.push(KeyValue::new(RECORD_ID, memory_id.to_owned()));
    to.push(count(1));
    to.push(request(request_id));
}
