package io.github.rocketwire.spark.cache;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * The manifest of columns beside a store (docs/files.md): up to which place of which log they go, their segments, and a
 * checksum of every block.
 *
 * @param last physical offset of the last record
 * @param end where that ends
 * @param witness its crc32c: another store, or a log that was cut, has another there
 * @param topics of each code the topic
 * @param tags of each code the tag; null stands for none
 */
public record Manifest(long last, long end, int witness, List<String> topics, List<String> tags, List<Part> segments) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int FORMAT = 3;
  private static final int CHECKSUM = 8; // digits before the text

  /**
   * A segment.
   *
   * @param first physical offset of its first record
   * @param end where its part of the log ends
   * @param checksums of each column the crc32c of each of its blocks
   */
  public record Part(String name, int rows, long first, long end, Map<String, int[]> checksums) {}

  /**
   * The manifest of a folder.
   *
   * @throws Unfit there is none, or it is damaged, or of another format
   */
  public static Manifest load(String folder) throws IOException {
    Path path = Path.of(folder, "manifest");
    if (!Files.exists(path)) {
      throw new Unfit("there are none");
    }
    byte[] data = Files.readAllBytes(path);
    byte[] text = Arrays.copyOfRange(data, Math.min(CHECKSUM + 1, data.length), data.length);
    String head = new String(data, 0, Math.min(CHECKSUM + 1, data.length), StandardCharsets.ISO_8859_1);
    if (!head.equals(String.format("%08x\n", crc(text)))) {
      throw new Unfit("the manifest is damaged");
    }
    JsonNode found = JSON.readTree(text);
    if (found.path("format").asInt() != FORMAT) {
      throw new Unfit("they are of another version");
    }
    long end = found.path("end").asLong();
    return new Manifest(
        found.path("last").asLong(), end, (int) found.path("witness").asLong(), texts(found.path("topics")),
        texts(found.path("tags")), parts(found.path("segments"), end));
  }

  private static List<Part> parts(JsonNode segments, long end) throws IOException {
    List<Part> parts = new ArrayList<>();
    for (int i = 0; i < segments.size(); i++) {
      JsonNode one = segments.get(i);
      Map<String, int[]> checksums = new HashMap<>();
      for (Map.Entry<String, JsonNode> each : one.path("checksums").properties()) {
        ByteBuffer sums = ByteBuffer.wrap(each.getValue().binaryValue()).order(ByteOrder.LITTLE_ENDIAN);
        int[] numbers = new int[sums.remaining() / Integer.BYTES];
        sums.asIntBuffer().get(numbers);
        checksums.put(each.getKey(), numbers);
      }
      long behind = i + 1 < segments.size() ? segments.get(i + 1).path("first").asLong() : end;
      parts.add(new Part(
          one.path("name").asText(), one.path("rows").asInt(), one.path("first").asLong(), behind, checksums));
    }
    return parts;
  }

  private static List<String> texts(JsonNode array) {
    List<String> found = new ArrayList<>();
    array.forEach(each -> found.add(each.textValue()));
    return found;
  }

  /** The crc32c of some bytes. */
  static int crc(byte[] data) {
    CRC32C crc = new CRC32C();
    crc.update(data);
    return (int) crc.getValue();
  }
}
