package io.github.rocketwire.testing;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URL;
import java.nio.charset.StandardCharsets;

/** Requests to the HTTP port of an endpoint. */
final class HttpCalls {
    private static final int WITHIN = 30_000;
    private final String address;

    HttpCalls(String address) {
        this.address = address;
    }

    /**
     * Sends one request and returns the answer's body.
     *
     * @param body what is sent, or null; a body that begins with a brace is JSON
     * @param expected the status of an answer that is none of refusal
     */
    String call(String method, String path, String body, int expected) {
        try {
            // A proxy of the JVM's settings could not reach this machine's loopback address.
            HttpURLConnection connection =
                    (HttpURLConnection) new URL("http://" + address + path).openConnection(Proxy.NO_PROXY);
            connection.setConnectTimeout(WITHIN);
            connection.setReadTimeout(WITHIN);
            connection.setRequestMethod(method);
            connection.setRequestProperty("Accept", "application/json");
            if (body != null) {
                String type = body.startsWith("{") ? "application/json" : "text/plain; charset=utf-8";
                connection.setRequestProperty("Content-Type", type);
                connection.setDoOutput(true);
                try (OutputStream out = connection.getOutputStream()) {
                    out.write(body.getBytes(StandardCharsets.UTF_8));
                }
            }
            int status = connection.getResponseCode();
            String answer = read(status < 400 ? connection.getInputStream() : connection.getErrorStream());
            if (status != expected) {
                throw new RocketwireException(
                        method + " " + path + " was answered with " + status + ": " + answer.trim());
            }
            return answer;
        } catch (IOException error) {
            throw new RocketwireException(method + " " + path + " of " + address + " failed: " + error, error);
        }
    }

    private static String read(InputStream body) throws IOException {
        if (body == null) {
            return "";
        }
        try (InputStream in = body) {
            ByteArrayOutputStream whole = new ByteArrayOutputStream();
            byte[] part = new byte[8192];
            for (int count = in.read(part); count >= 0; count = in.read(part)) {
                whole.write(part, 0, count);
            }
            return new String(whole.toByteArray(), StandardCharsets.UTF_8);
        }
    }
}
