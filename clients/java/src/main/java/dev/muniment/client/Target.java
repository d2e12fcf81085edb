package dev.muniment.client;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where the service is.
 *
 * @param full a gRPC target
 * @param host the host, without brackets
 * @param port the port
 */
record Target(String full, String host, int port) {
    static final int DEFAULT_PORT = 7443;

    private static final Pattern ADDRESS =
            Pattern.compile("(?:\\[([^\\[\\]]+)\\]|([^:\\[\\]/]+))(?::(\\d{1,5}))?");
    private static final Pattern SCHEME = Pattern.compile("(dns|ipv4|ipv6):(//[^/]*/|/*)(.*)");
    private static final Pattern LOOPBACK_V4 = Pattern.compile("127(\\.\\d{1,3}){3}");

    /** IllegalArgumentException for what is no target. */
    static Target parse(String text) {
        Matcher scheme = SCHEME.matcher(text);
        boolean named = scheme.matches();
        if (!named && text.contains("//")) {
            throw new IllegalArgumentException(
                    "target " + text + " must be host:port, without a scheme such as https://");
        }
        Matcher address = ADDRESS.matcher(named ? scheme.group(3) : text);
        if (!address.matches()) {
            throw wrong(text);
        }
        boolean bracketed = address.group(1) != null;
        String host = bracketed ? address.group(1) : address.group(2);
        int port = address.group(3) == null ? DEFAULT_PORT : Integer.parseInt(address.group(3));
        if (port > 65_535) {
            throw wrong(text);
        }
        String shown = (bracketed ? "[" + host + "]" : host) + ":" + port;
        // An address as such is resolved by the same resolver as a name.
        String prefix = named && scheme.group(1).equals("dns") ? "dns:" + scheme.group(2) : "dns:///";
        return new Target(prefix + shown, host, port);
    }

    private static IllegalArgumentException wrong(String text) {
        return new IllegalArgumentException(
                "target " + text + " must be host:port, for example 127.0.0.1:7443 or [::1]:7443");
    }

    /** Whether the host is this machine for certain. */
    boolean isLoopback() {
        return host.equals("localhost")
                || host.equals("::1")
                || host.equals("0:0:0:0:0:0:0:1")
                || LOOPBACK_V4.matcher(host).matches();
    }
}
