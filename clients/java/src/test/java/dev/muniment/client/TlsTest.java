package dev.muniment.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;

import dev.muniment.v1.RecallResponse;

import io.grpc.ServerCredentials;
import io.grpc.TlsServerCredentials;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Encryption, with certificates made for the occasion. */
@Timeout(60)
class TlsTest {
    private static final char[] PASSWORD = "changeit".toCharArray();

    /** A self-signed certificate and its key, as PEM text. */
    private record Identity(byte[] certificate, byte[] key) {}

    private static Identity identity(Path folder, String name) throws Exception {
        Path store = folder.resolve(name + ".p12");
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair", "-alias", name, "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=" + name,
                "-ext", "san=dns:" + name, "-storetype", "PKCS12", "-keystore", store.toString(),
                "-storepass", new String(PASSWORD));
        assertEquals(0, new ProcessBuilder(command).redirectErrorStream(true).start().waitFor());
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream stream = Files.newInputStream(store)) {
            keys.load(stream, PASSWORD);
        }
        return new Identity(
                pem("CERTIFICATE", keys.getCertificate(name).getEncoded()),
                pem("PRIVATE KEY", keys.getKey(name, PASSWORD).getEncoded()));
    }

    private static byte[] pem(String label, byte[] content) {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
        return ("-----BEGIN " + label + "-----\n" + text + "\n-----END " + label + "-----\n").getBytes();
    }

    @Test
    void mutualTls(@TempDir Path folder) throws Exception {
        Identity server = identity(folder, "memory.example");
        Identity client = identity(folder, "agent.example");
        ServerCredentials credentials = TlsServerCredentials.newBuilder()
                .keyManager(new ByteArrayInputStream(server.certificate), new ByteArrayInputStream(server.key))
                .trustManager(new ByteArrayInputStream(client.certificate))
                .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE)
                .build();
        try (Peer peer = new Peer((number, call) -> RecallResponse.getDefaultInstance(), 0, credentials)) {
            Tls.Builder trusting =
                    Tls.builder().rootCertificates(server.certificate).serverName("memory.example");
            recall(peer, trusting.build(), true);
            recall(peer, trusting.certificate(client.certificate, client.key).build(), false);
            recall(peer, Tls.builder().serverName("memory.example").build(), true);
        }
    }

    private static void recall(Peer peer, Tls tls, boolean refused) {
        try (MunimentClient client = peer.builder().tls(tls).build()) {
            if (refused) {
                assertThrows(
                        MunimentException.Unavailable.class, () -> client.recall(Muniment.subject("ada"), "tea"));
            } else {
                client.recall(Muniment.subject("ada"), "tea");
            }
        }
    }
}
