package io.github.rocketwire.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
    @Test
    void valuesOfEveryKind() {
        Map<String, Object> found = Json.object(
                " {\"s\":\"a\\\"\\\\\\n\\u6d88é\", \"n\":-12, \"d\":1.5e3,\"z\":null,"
                        + "\"b\":[true,false,[]],\"o\":{} }\n");
        Map<String, Object> expected = new LinkedHashMap<>();
        expected.put("s", "a\"\\\n消é");
        expected.put("n", -12L);
        expected.put("d", 1500.0);
        expected.put("z", null);
        expected.put("b", Arrays.asList(true, false, Arrays.asList()));
        expected.put("o", new LinkedHashMap<>());
        assertEquals(expected, found);
    }

    @Test
    void stringsAreWrittenSoThatTheyAreReadAgain() {
        String text = "quoted \"\\ \u0001\n\té 消";
        assertEquals(text, Json.object("{\"t\":" + Json.string(text) + "}").get("t"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "", "[]", "{", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1 \"b\":2}", "{\"a\":\"open",
                "{\"a\":\"\\u00", "{} x", "{\"a\":no}", "{\"a\":[1 2]}"
            })
    void whatIsNoObjectIsRefused(String text) {
        RocketwireException refused = assertThrows(RocketwireException.class, () -> Json.object(text));
        assertEquals(true, refused.getMessage().startsWith("not the JSON that was expected"));
    }
}
