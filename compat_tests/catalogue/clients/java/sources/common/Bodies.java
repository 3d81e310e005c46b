package compat;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** The body of a message: text that may be repeated, or noise that doesn't compress. */
public final class Bodies {
    private Bodies() {
    }

    /** Fields body and repeat, or seed and size. */
    public static byte[] of(Map<String, List<String>> fields) throws Exception {
        byte[] body = fields.containsKey("size")
            ? noise(first(fields, "seed"), Integer.parseInt(first(fields, "size")))
            : first(fields, "body").getBytes(StandardCharsets.UTF_8);
        return repeated(body, fields.containsKey("repeat") ? Integer.parseInt(first(fields, "repeat")) : 1);
    }

    private static byte[] repeated(byte[] body, int times) throws Exception {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        for (byte[] part : Collections.nCopies(times, body)) {
            whole.write(part);
        }
        return whole.toByteArray();
    }

    private static byte[] noise(String seed, int size) throws Exception {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (int i = 0; body.size() < size; i++) {
            body.write(MessageDigest.getInstance("SHA-256").digest((seed + ":" + i).getBytes(StandardCharsets.UTF_8)));
        }
        return Arrays.copyOf(body.toByteArray(), size);
    }

    static String first(Map<String, List<String>> fields, String key) {
        return fields.get(key).get(0);
    }
}
