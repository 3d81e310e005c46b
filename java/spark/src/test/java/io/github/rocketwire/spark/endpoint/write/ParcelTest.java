package io.github.rocketwire.spark.endpoint.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class ParcelTest {
  private static Message message(boolean delayed) {
    return new Message("T", -1, delayed, new byte[] {7}, new byte[] {'p'}, 5);
  }

  @Test
  void batchesHaveTheirMessagesOneAfterTheOther() {
    List<Parcel> found = Parcel.of(List.of(message(false), message(false)), 1000);
    ByteBuffer item = ByteBuffer.allocate(24);
    item.putInt(24).putInt(0).putInt(0).putInt(5).putInt(1).put((byte) 7).putShort((short) 1).put((byte) 'p');
    byte[] two = ByteBuffer.allocate(48).put(item.array()).put(item.array()).array();
    assertEquals(1, found.size());
    assertArrayEquals(two, found.get(0).body);
    assertNull(found.get(0).properties);
    assertEquals(2, found.get(0).count);
  }

  @Test
  void bytesAndNumbersOfBatchesAreBounded() {
    assertEquals(2, Parcel.of(Collections.nCopies(4, message(false)), 48).size());
    List<Integer> counts = Parcel.of(Collections.nCopies(1025, message(false)), 1 << 20).stream()
        .map(each -> each.count)
        .toList();
    assertEquals(List.of(512, 512, 1), counts);
  }

  @Test
  void aSingleMessageIsNoBatch() {
    for (Parcel each : Parcel.of(List.of(message(true), message(true)), 1000)) {
      assertEquals("p", each.properties);
      assertEquals(5, each.flag);
      assertArrayEquals(new byte[] {7}, each.body);
    }
    assertEquals("p", Parcel.of(List.of(message(false)), 1).get(0).properties);
  }
}
