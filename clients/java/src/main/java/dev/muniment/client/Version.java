package dev.muniment.client;

/** The version of this client; a test holds it against the one in pom.xml. */
final class Version {
    static final String TEXT = "0.1.0";

    private Version() {}
}
