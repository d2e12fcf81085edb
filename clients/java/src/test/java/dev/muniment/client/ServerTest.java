package dev.muniment.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import dev.muniment.v1.*;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The client against the service as its own process, with its own database.
 *
 * <p>The service is the one of this repository; MUNIMENT_SERVER names another program. Where there is none, for
 * example in the package alone, the test is skipped.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class ServerTest {
    /** How long calls take is not the question on a machine that is busy with tests. */
    private static final Duration PATIENT = Duration.ofSeconds(30);

    private record Server(Process process, BufferedReader output, Path home, String target, String key)
            implements AutoCloseable {
        static Server start(Path program) throws IOException {
            // Short, because a Unix socket lies in it.
            Path home = Files.createTempDirectory("mj");
            ProcessBuilder builder = new ProcessBuilder(program.toString(), "serve", "--listen", "127.0.0.1:0")
                    .redirectError(ProcessBuilder.Redirect.DISCARD);
            builder.environment().putAll(Map.of(
                    "MUNIMENT_HOME", home.resolve("h").toString(),
                    "MUNIMENT_DRAIN_DELAY", "0",
                    "PYTHONUNBUFFERED", "1"));
            Process process = builder.start();
            BufferedReader output =
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            String line = output.readLine();
            while (!line.contains("serves on ")) {
                line = output.readLine();
            }
            String target = line.split("serves on ")[1].split(" ")[0];
            String key = Files.readString(home.resolve("h/dev-key")).strip();
            return new Server(process, output, home, target, key);
        }

        @Override
        public void close() throws IOException {
            process.destroy();
            try {
                process.waitFor(30, TimeUnit.SECONDS);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            try (Stream<Path> files = Files.walk(home)) {
                files.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            }
        }
    }

    @Test
    void oneTurnOfAnAgent() throws Exception {
        String named = System.getenv("MUNIMENT_SERVER");
        Path program = named == null ? Path.of("../../.venv/bin/muniment").toAbsolutePath() : Path.of(named);
        assumeTrue(System.getenv("CI") != null || Files.exists(program), "no service at " + program);
        try (Server server = Server.start(program);
                MunimentClient client = new MunimentClientBuilder(Map.of())
                        .target(server.target)
                        .tenant("dev")
                        .apiKey(server.key)
                        .build()) {
            turn(client.withTimeout(PATIENT));
        }
    }

    private static void turn(MunimentClient client) {
        Scope ada = Muniment.subject("ada");
        WriteItem tea = Muniment.item(MemoryKind.MEMORY_KIND_PREFERENCE, "Ada drinks green tea, never coffee. 🍵")
                .toBuilder()
                .putProperties("cups", Muniment.property(3))
                .build();
        WriteResponse written = client.write(ada, tea, Muniment.fact("Ada lives in Lyon."));
        assertEquals(WriteOutcome.WRITE_OUTCOME_CREATED, written.getResults(0).getOutcome());
        String memoryId = written.getResults(0).getMemory().getMemoryId();

        // The same request id with another payload.
        WriteRequest other = WriteRequest.newBuilder()
                .setScope(ada)
                .addItems(Muniment.fact("Ada lives in Paris."))
                .setRequestId(written.getRequestId())
                .build();
        assertThrows(MunimentException.AlreadyExists.class, () -> client.write(other));

        RecallRequest request = RecallRequest.newBuilder()
                .setScope(ada)
                .setQuery("What can I offer Ada to drink?")
                .setTokenBudget(500)
                .build();
        Recalled recalled = client.recall(request);
        assertTrue(recalled.context().contains("🍵"));
        ModelCall call = client.modelCall(recalled).model("m");
        call.run(here -> "an answer");
        assertTrue(call.reportError().isEmpty());
        RecallReceipt receipt = client.getRecall(GetRecallRequest.newBuilder()
                        .setRecallId(recalled.recallId())
                        .build())
                .getReceipt();
        assertEquals(1, receipt.getUsesCount());

        MunimentException invalid = assertThrows(
                MunimentException.InvalidRequest.class,
                () -> client.recall(request.toBuilder().setLimit(0).build()));
        assertEquals("limit", invalid.fieldViolations().get(0).field());

        SupersedeRequest supersede = SupersedeRequest.newBuilder()
                .setMemoryId(memoryId)
                .setItem(Muniment.item(MemoryKind.MEMORY_KIND_PREFERENCE, "Ada drinks black tea."))
                .build();
        assertTrue(client.supersedeAsync(supersede).join().hasMemory());
        MunimentException superseded =
                assertThrows(MunimentException.FailedPrecondition.class, () -> client.supersede(supersede));
        assertEquals("MEMORY_SUPERSEDED", superseded.reason());

        List<Memory> listed = client.listMemories(ListMemoriesRequest.newBuilder()
                        .setScope(ada)
                        .setPageSize(1)
                        .build())
                .all();
        assertEquals(2, listed.size());
        assertTrue(client.audit(AuditRequest.newBuilder().setPageSize(2).build()).all().size() > 4);
        try (ResponseStream<ExportAuditResponse> export =
                client.exportAudit(ExportAuditRequest.getDefaultInstance())) {
            assertTrue(export.next().hasHeader());
            export.forEachRemaining(part -> {});
        }

        EraseResponse erased = client.erase(EraseRequest.newBuilder()
                .setTarget(ErasureTarget.newBuilder().setScope(ScopeTarget.newBuilder().setScope(ada)))
                .setReason(ErasureReason.ERASURE_REASON_SUBJECT_REQUEST)
                .build());
        assertEquals(ErasureState.ERASURE_STATE_COMPLETE, erased.getReceipt().getState());
    }
}
