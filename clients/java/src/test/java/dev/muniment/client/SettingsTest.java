package dev.muniment.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the builder takes and refuses. */
class SettingsTest {
    private static MunimentClientBuilder complete() {
        return new MunimentClientBuilder(Map.of()).tenant("dev").apiKey("mk_dev_5ecret");
    }

    private static String refused(MunimentClientBuilder builder) {
        return assertThrows(IllegalArgumentException.class, builder::build).getMessage();
    }

    @Test
    void theEnvironmentCompletes() {
        Settings settings = new MunimentClientBuilder(Map.of(
                        "MUNIMENT_TARGET", "localhost:1", "MUNIMENT_TENANT", "acme", "MUNIMENT_API_KEY", "key"))
                .settings();
        assertEquals("dns:///localhost:1", settings.target.full());
        assertEquals("acme", settings.tenant);
    }

    @Test
    void whatIsWrongIsNamed() {
        assertTrue(refused(new MunimentClientBuilder(Map.of())).contains("MUNIMENT_TENANT"));
        assertTrue(refused(new MunimentClientBuilder(Map.of()).tenant("dev")).contains("MUNIMENT_API_KEY"));
        assertTrue(refused(complete().clientName("Ü/1")).contains("clientName"));
        assertTrue(refused(complete().insecure(true).tls(Tls.builder().build())).contains("exclude"));
        assertTrue(refused(complete().tokenSource(() -> "x")).contains("exclude"));
        String text = refused(new MunimentClientBuilder(Map.of()).tenant("dev").apiKey("5ecret key"));
        assertFalse(text.contains("5ecret"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"Dev", "é", "a b", "-a"})
    void tenantsHaveAForm(String tenant) {
        assertTrue(refused(complete().tenant(tenant)).contains("tenant"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"https://memory.example", "a:b", "a:99999", "::1", "[::1", "a:"})
    void whatIsNoTarget(String target) {
        assertTrue(refused(complete().target(target)).contains("target"));
    }

    @Test
    void targets() {
        assertEquals(new Target("dns:///[::1]:7443", "::1", 7443), Target.parse("[::1]"));
        assertEquals(new Target("dns:///memory.example:5", "memory.example", 5), Target.parse("dns:///memory.example:5"));
        assertTrue(Target.parse("127.3.2.1").isLoopback());
        assertFalse(Target.parse("localhost.example").isLoopback());
    }

    @Test
    void elsewhereIsEncrypted() {
        assertTrue(complete().target("memory.example").settings().tls != null);
        assertTrue(complete().target("127.0.0.1").settings().tls == null);
        assertTrue(complete().target("memory.example").insecure(true).settings().tls == null);
    }

    @Test
    void nothingShowsTheKey() {
        try (MunimentClient client = complete().build()) {
            assertFalse(client.toString().contains("5ecret"));
        }
        assertFalse(Tls.builder().certificate("a".getBytes(), "5ecret".getBytes()).build().toString().contains("5ecret"));
    }

    @Test
    void timesAreAboveZero() {
        assertThrows(IllegalArgumentException.class, () -> Deadlines.DEFAULT.withRecall(Duration.ZERO));
    }

    @Test
    void theVersionIsThatOfThePackage() throws Exception {
        String pom = Files.readString(Path.of("pom.xml"));
        assertTrue(pom.contains("<artifactId>muniment-client</artifactId>\n  <version>" + Version.TEXT + "</version>"));
    }
}
