package compat;

import java.io.PrintStream;
import java.security.MessageDigest;
import java.util.LinkedHashMap;
import java.util.Map;

/** Prints events as JSON lines; several threads may print. What clients of 4.x and of 5.x have in common. */
public class Lines {
    public static final int SHORT_BODY = 4096;
    private final PrintStream stream;

    public Lines(PrintStream stream) {
        this.stream = stream;
    }

    /** One JSON object being put together. */
    public final class Event {
        private final Map<String, Object> fields = new LinkedHashMap<>();

        public Event put(String key, Object value) {
            fields.put(key, value);
            return this;
        }

        public void print() {
            StringBuilder line = new StringBuilder();
            write(line, fields);
            synchronized (stream) {
                stream.print(line.append('\n'));
                stream.flush();
            }
        }
    }

    public Event event(String name) {
        return new Event().put("event", name);
    }

    public static String sha256(byte[] body) throws Exception {
        StringBuilder hex = new StringBuilder();
        for (byte b : MessageDigest.getInstance("SHA-256").digest(body)) {
            hex.append(String.format("%02x", b));
        }
        return hex.toString();
    }

    private static void write(StringBuilder line, Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            line.append(value);
        } else if (value instanceof Map) {
            String comma = "{";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                line.append(comma);
                write(line, String.valueOf(entry.getKey()));
                line.append(':');
                write(line, entry.getValue());
                comma = ",";
            }
            line.append(comma.equals("{") ? "{}" : "}");
        } else if (value instanceof Iterable) {
            String comma = "[";
            for (Object item : (Iterable<?>) value) {
                line.append(comma);
                write(line, item);
                comma = ",";
            }
            line.append(comma.equals("[") ? "[]" : "]");
        } else {
            quote(line, value.toString());
        }
    }

    private static void quote(StringBuilder line, String text) {
        line.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                line.append('\\').append(c);
            } else if (c < ' ' || Character.isSurrogate(c)) {
                line.append(String.format("\\u%04x", (int) c));
            } else {
                line.append(c);
            }
        }
        line.append('"');
    }
}
