package dev.muniment.client;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;

import io.grpc.ChannelCredentials;
import io.grpc.TlsChannelCredentials;

/** How to encrypt. Files hold PEM text and are read at once. */
public final class Tls {
    private final byte[] roots;
    private final byte[] certificate;
    private final byte[] privateKey;
    private final String serverName;

    private Tls(Builder builder) {
        if ((builder.certificate == null) != (builder.privateKey == null)) {
            throw new IllegalArgumentException("certificate and privateKey belong together");
        }
        roots = builder.roots;
        certificate = builder.certificate;
        privateKey = builder.privateKey;
        serverName = builder.serverName;
    }

    /** A builder; without anything set, the authorities of the Java runtime are trusted. */
    public static Builder builder() {
        return new Builder();
    }

    String serverName() {
        return serverName;
    }

    ChannelCredentials credentials() {
        TlsChannelCredentials.Builder made = TlsChannelCredentials.newBuilder();
        try {
            if (roots != null) {
                made.trustManager(new ByteArrayInputStream(roots));
            }
            if (certificate != null) {
                made.keyManager(new ByteArrayInputStream(certificate), new ByteArrayInputStream(privateKey));
            }
        } catch (IOException error) {
            throw new IllegalArgumentException("a certificate or key is not PEM text", error);
        }
        return made.build();
    }

    @Override
    public String toString() {
        return "Tls[" + (roots == null ? "system authorities" : "own authorities")
                + (certificate == null ? "" : ", client certificate")
                + (serverName == null ? "" : ", server name " + serverName) + "]";
    }

    /** Makes a {@link Tls}. */
    public static final class Builder {
        private byte[] roots;
        private byte[] certificate;
        private byte[] privateKey;
        private String serverName;

        private Builder() {}

        /** Authorities that may have signed the server's certificate, as PEM text. */
        public Builder rootCertificates(byte[] pem) {
            roots = pem.clone();
            return this;
        }

        /** Authorities that may have signed the server's certificate. UncheckedIOException if unreadable. */
        public Builder rootCertificates(Path file) {
            return rootCertificates(read(file));
        }

        /** The client's own certificate chain and its key (PKCS #8), as PEM text, for mutual TLS. */
        public Builder certificate(byte[] chain, byte[] key) {
            certificate = chain.clone();
            privateKey = key.clone();
            return this;
        }

        /** The client's own certificate chain and its key (PKCS #8), for mutual TLS. */
        public Builder certificate(Path chain, Path key) {
            return certificate(read(chain), read(key));
        }

        /** The name that the server's certificate must bear, if it is not the host of the target. */
        public Builder serverName(String name) {
            serverName = Objects.requireNonNull(name);
            return this;
        }

        /** The settings. */
        public Tls build() {
            return new Tls(this);
        }

        private static byte[] read(Path file) {
            try {
                return Files.readAllBytes(file);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
    }
}
