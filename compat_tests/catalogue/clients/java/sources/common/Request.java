package compat;

import java.net.URLDecoder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A scenario's name and its arguments: `Name?key=value&key=value`, form-encoded UTF-8; a key may come several times. */
public final class Request {
    private final String name;
    private final Map<String, List<String>> values;

    private Request(String name, Map<String, List<String>> values) {
        this.name = name;
        this.values = values;
    }

    public static Request parse(String line) throws Exception {
        int mark = line.indexOf('?');
        if (mark < 0) {
            return new Request(line, Collections.emptyMap());
        }
        return new Request(line.substring(0, mark), decode(line.substring(mark + 1)));
    }

    public static Map<String, List<String>> decode(String query) throws Exception {
        Map<String, List<String>> values = new LinkedHashMap<>();
        for (String pair : query.split("&")) {
            if (!pair.isEmpty()) {
                int equals = pair.indexOf('=');
                String key = URLDecoder.decode(pair.substring(0, equals), "UTF-8");
                String value = URLDecoder.decode(pair.substring(equals + 1), "UTF-8");
                values.computeIfAbsent(key, k -> new ArrayList<>()).add(value);
            }
        }
        return values;
    }

    public String name() {
        return name;
    }

    public List<String> all(String key) {
        return values.getOrDefault(key, Collections.emptyList());
    }

    public String text(String key) {
        if (all(key).isEmpty()) {
            throw new IllegalArgumentException("the request lacks " + key);
        }
        return all(key).get(0);
    }

    public String text(String key, String otherwise) {
        return all(key).isEmpty() ? otherwise : all(key).get(0);
    }

    public int number(String key, int otherwise) {
        return all(key).isEmpty() ? otherwise : Integer.parseInt(all(key).get(0));
    }

    public int number(String key) {
        return Integer.parseInt(text(key));
    }
}
