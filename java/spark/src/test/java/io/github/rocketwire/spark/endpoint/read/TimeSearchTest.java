package io.github.rocketwire.spark.endpoint.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TimeSearchTest {
  @Test
  void aTimeIsFoundWhereverTheSearchBegins() {
    Random chance = new Random(3);
    for (int turn = 0; turn < 500; turn++) {
      int first = chance.nextInt(20);
      long[] times = IntStream.range(0, 1 + chance.nextInt(200)).mapToLong(i -> chance.nextInt(60)).sorted().toArray();
      int end = first + times.length;
      long wanted = chance.nextInt(64) - 2;
      TimeSearch search = new TimeSearch(wanted, first, end, chance.nextInt(end + 40) - 10);
      int steps = 0;
      while (!search.isDone()) {
        search.see(times[(int) search.at() - first]);
        steps++;
      }
      long expected = first + IntStream.range(0, times.length).filter(i -> times[i] < wanted).count();
      assertEquals(expected, search.at());
      assertTrue(steps <= 20, "steps: " + steps);
    }
  }

  @Test
  void aMessageThatCannotBeReadCountsAsEarly() {
    TimeSearch search = new TimeSearch(5, 0, 2, 0);
    search.see(null);
    assertEquals(1, search.at());
    search.see(7L);
    assertTrue(search.isDone());
    assertEquals(1, search.at());
  }
}
