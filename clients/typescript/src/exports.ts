/** Whether a streamed answer came to its end. */
import type { Tally } from "./calls.js";
import { failed } from "./errors.js";
import type { ExportAuditResponse } from "./gen/muniment/v1/audit_pb.js";
import type { ExportMemoriesResponse } from "./gen/muniment/v1/subject_pb.js";

function cutOff(detail: string): Error {
  return failed("UNAVAILABLE", detail);
}

function compare(announced: bigint, arrived: number, what: string): void {
  if (announced !== BigInt(arrived)) {
    throw cutOff(`the export announced ${announced} ${what} but sent ${arrived}`);
  }
}

export function tallyAudit(): Tally<ExportAuditResponse> {
  let events = 0;
  let ended = false;
  return (message) => {
    if (message === undefined) {
      if (!ended) throw cutOff("the export was cut off before its trailer");
    } else if (message.part.case === "events") {
      events += message.part.value.events.length;
    } else if (message.part.case === "trailer") {
      ended = true;
      compare(message.part.value.eventCount, events, "events");
    }
  };
}

export function tallyMemories(broken: (ids: readonly string[]) => void): Tally<ExportMemoriesResponse> {
  let records = 0;
  let ended = false;
  return (message) => {
    if (message === undefined) {
      if (!ended) throw cutOff("the export was cut off before its end");
      return;
    }
    records += message.records.length;
    broken(message.sealBrokenMemoryIds);
    if (message.recordCount !== undefined) {
      ended = true;
      compare(message.recordCount, records, "memories");
    }
  };
}
