//! When a streamed export is whole.

use crate::v1::export_audit_response::Part;
use crate::v1::{ExportAuditResponse, ExportMemoriesResponse};

/// Counts what arrives against what the last message announces.
#[derive(Default)]
pub struct Count {
    arrived: i64,
    announced: Option<i64>,
}

impl Count {
    /// What is wrong at the end.
    pub(crate) fn missing(&self) -> Option<String> {
        match self.announced {
            None => Some("the export was cut off before its end".into()),
            Some(number) if number == self.arrived => None,
            Some(number) => Some(format!("the export announced {number} entries but sent {}", self.arrived)),
        }
    }
}

/// A message of an export.
pub trait Counted {
    fn count(&self, so_far: &mut Count);
}

impl Counted for ExportAuditResponse {
    fn count(&self, so_far: &mut Count) {
        match &self.part {
            Some(Part::Events(part)) => so_far.arrived += i64::try_from(part.events.len()).unwrap_or(i64::MAX),
            Some(Part::Trailer(trailer)) => so_far.announced = Some(trailer.event_count),
            _ => {}
        }
    }
}

impl Counted for ExportMemoriesResponse {
    fn count(&self, so_far: &mut Count) {
        so_far.arrived += i64::try_from(self.records.len()).unwrap_or(i64::MAX);
        so_far.announced = self.record_count.or(so_far.announced);
    }
}
