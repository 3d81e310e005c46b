import java.util.Arrays;

/** A growing list of longs; each sender has its own, so that recording takes no lock. */
final class Latencies {
    private long[] values = new long[1 << 16];
    private int size;

    void add(long nanoseconds) {
        if (size == values.length) {
            values = Arrays.copyOf(values, size * 2);
        }
        values[size++] = nanoseconds;
    }

    long[] values() {
        return Arrays.copyOf(values, size);
    }

    static long[] join(Latencies[] parts) {
        return Arrays.stream(parts).flatMapToLong(part -> Arrays.stream(part.values())).toArray();
    }
}
