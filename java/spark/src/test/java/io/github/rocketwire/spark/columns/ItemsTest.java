package io.github.rocketwire.spark.columns;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.junit.jupiter.api.Test;

class ItemsTest {
  /** The items of records whose properties follow each other; nothing is behind the last. */
  private static Items items(byte[]... texts) {
    ByteBuffer data = ByteBuffer.allocate(Arrays.stream(texts).mapToInt(text -> text.length).sum());
    int[] begins = new int[texts.length];
    int[] ends = new int[texts.length];
    for (int i = 0; i < texts.length; i++) {
      begins[i] = data.position();
      ends[i] = data.put(texts[i]).position();
    }
    return new Items(data.array(), begins, ends);
  }

  private static Map<String, String> map(Items items, int row) {
    ColumnarMap map = items.map(row);
    Map<String, String> found = new LinkedHashMap<>();
    for (int i = 0; i < map.numElements(); i++) {
      found.put(map.keyArray().getUTF8String(i).toString(), map.valueArray().getUTF8String(i).toString());
    }
    assertEquals(map.numElements(), found.size());
    return found;
  }

  @Test
  void aMapHasTheLastOfEqualNames() {
    Items items = items(
        PropertiesTest.text("a=1;b=;=c;d;a=2;e=5;"), PropertiesTest.text(""), PropertiesTest.text("a=é;aa=b=c"));
    assertEquals(Map.of("a", "2", "e", "5"), map(items, 0));
    assertEquals(Map.of(), map(items, 1));
    assertEquals(Map.of("a", "é", "aa", "b\1c"), map(items, 2));
    assertEquals(-1, items.find(1, new byte[] {'a'}));
    assertEquals(-1, items.find(2, new byte[] {'b'}));
  }

  @Test
  void namesThatAreReplacedByEqualTextsAreEqual() {
    byte[] data = PropertiesTest.text("n?=1;m=2;n!=3");
    data[1] = (byte) 0xFF;
    data[10] = (byte) 0xFE;
    assertEquals(Map.of("n\uFFFD", "3", "m", "2"), map(items(data), 0));
  }

  @Test
  void anyTextsAtAnyPlaces() {
    Random random = new Random(3);
    for (int turn = 0; turn < 3000; turn++) {
      String letters = turn % 2 == 0 ? "ab\1\1\2\2\0\3" : "aé\1\1\2\2\3b";
      String[] texts = new String[3];
      for (int i = 0; i < texts.length; i++) {
        StringBuilder text = new StringBuilder();
        random.ints(random.nextInt(40), 0, letters.length()).forEach(at -> text.append(letters.charAt(at)));
        texts[i] = text.toString();
      }
      Items items = items(Arrays.stream(texts).map(text -> text.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new));
      for (int i = 0; i < texts.length; i++) {
        assertEquals(List.copyOf(split(texts[i]).entrySet()), List.copyOf(map(items, i).entrySet()), texts[i]);
      }
    }
  }

  /** The rules again, in the plainest way. */
  private static Map<String, String> split(String text) {
    Map<String, String> found = new LinkedHashMap<>();
    for (String item : text.split("\2")) {
      int middle = item.indexOf('\1');
      if (middle > 0 && middle + 1 < item.length()) {
        found.put(item.substring(0, middle), item.substring(middle + 1));
      }
    }
    return found;
  }

  @Test
  void manyNamesWithRepetitions() {
    Random random = new Random(7);
    Map<String, String> expected = new LinkedHashMap<>();
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 3000; i++) {
      String name = "ü" + random.nextInt(500);
      expected.put(name, "v" + i);
      text.append(name).append('=').append('v').append(i).append(';');
    }
    Items items = items(PropertiesTest.text("a=1"), PropertiesTest.text(text.toString()), PropertiesTest.text("z=9"));
    assertEquals(expected, map(items, 1));
    assertEquals(Map.of("z", "9"), map(items, 2));
    byte[] name = "ü7".getBytes(StandardCharsets.UTF_8);
    assertEquals(expected.get("ü7").length(), (int) items.find(1, name) - (int) (items.find(1, name) >> 32));
  }
}
