package dev.muniment.client;

import dev.muniment.v1.ExportAuditResponse;
import dev.muniment.v1.ExportMemoriesResponse;

/** When a streamed export is whole. */
interface Completeness<R> {
    /** A message has arrived. */
    void saw(R message);

    /** What is wrong at the end; empty when everything has arrived. */
    String missing();

    /** The trailer counts the events. */
    final class Audit implements Completeness<ExportAuditResponse> {
        private long events;
        private long announced = -1;

        @Override
        public void saw(ExportAuditResponse message) {
            events += message.getEvents().getEventsCount();
            if (message.hasTrailer()) {
                announced = message.getTrailer().getEventCount();
            }
        }

        @Override
        public String missing() {
            if (announced < 0) {
                return "the export was cut off before its trailer";
            }
            return announced == events ? "" : "the export announced " + announced + " events but sent " + events;
        }
    }

    /** The last message counts the records. */
    final class Memories implements Completeness<ExportMemoriesResponse> {
        private long records;
        private long announced = -1;

        @Override
        public void saw(ExportMemoriesResponse message) {
            records += message.getRecordsCount();
            if (message.hasRecordCount()) {
                announced = message.getRecordCount();
            }
        }

        @Override
        public String missing() {
            if (announced < 0) {
                return "the export was cut off before its end";
            }
            return announced == records ? "" : "the export announced " + announced + " records but sent " + records;
        }
    }
}
