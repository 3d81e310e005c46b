package io.github.rocketwire.testing;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads the JSON that an endpoint writes, so that the library needs no other. An object becomes a Map, an array a List,
 * a whole number a Long, another a Double.
 */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /**
     * Reads a text that is one object.
     *
     * @throws RocketwireException when it is not
     */
    static Map<String, Object> object(String text) {
        Json reader = new Json(text);
        if (reader.next() != '{') {
            throw reader.wrong("an object");
        }
        Map<String, Object> found = reader.members();
        if (reader.next() != 0) {
            throw reader.wrong("the end");
        }
        return found;
    }

    /** Writes a string as JSON. */
    static String string(String value) {
        StringBuilder written = new StringBuilder("\"");
        for (char each : value.toCharArray()) {
            if (each == '"' || each == '\\') {
                written.append('\\').append(each);
            } else if (each < ' ') {
                written.append(String.format("\\u%04x", (int) each));
            } else {
                written.append(each);
            }
        }
        return written.append('"').toString();
    }

    /** The next character that is no space, which stays unread; 0 at the end. */
    private char next() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private void take(char wanted) {
        if (next() != wanted) {
            throw wrong("'" + wanted + "'");
        }
        at++;
    }

    private Object value() {
        switch (next()) {
            case '{':
                return members();
            case '[':
                return elements();
            case '"':
                return string();
            default:
                return word();
        }
    }

    private Map<String, Object> members() {
        Map<String, Object> found = new LinkedHashMap<>();
        take('{');
        while (next() != '}') {
            if (!found.isEmpty()) {
                take(',');
                next();
            }
            String name = string();
            take(':');
            found.put(name, value());
        }
        at++;
        return found;
    }

    private List<Object> elements() {
        List<Object> found = new ArrayList<>();
        take('[');
        while (next() != ']') {
            if (!found.isEmpty()) {
                take(',');
            }
            found.add(value());
        }
        at++;
        return found;
    }

    private String string() {
        take('"');
        StringBuilder found = new StringBuilder();
        while (at < text.length()) {
            char each = text.charAt(at++);
            if (each == '"') {
                return found.toString();
            }
            found.append(each == '\\' ? escaped() : each);
        }
        throw wrong("the end of a string");
    }

    private char escaped() {
        char each = at < text.length() ? text.charAt(at++) : 0;
        int known = "nrtbf".indexOf(each);
        if (known >= 0) {
            return "\n\r\t\b\f".charAt(known);
        }
        if (each != 'u') {
            return each;
        }
        at += 4;
        if (at > text.length()) {
            throw wrong("four hexadecimal digits");
        }
        return (char) Integer.parseInt(text.substring(at - 4, at), 16);
    }

    private Object word() {
        int start = at;
        while (at < text.length() && ",:]}".indexOf(text.charAt(at)) < 0 && !Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        String word = text.substring(start, at);
        switch (word) {
            case "null":
                return null;
            case "true":
            case "false":
                return Boolean.valueOf(word);
            default:
                try {
                    return word.matches("-?\\d+") ? (Object) Long.valueOf(word) : Double.valueOf(word);
                } catch (NumberFormatException error) {
                    at = start;
                    throw wrong("a value");
                }
        }
    }

    private RocketwireException wrong(String wanted) {
        return new RocketwireException(
                "not the JSON that was expected, at " + at + " should be " + wanted + ": " + text);
    }
}
