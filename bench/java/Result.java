import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Locale;

/** What one order measured; the same keys as the raw load generator prints. */
final class Result {
    /** Linux counts the CPU time in /proc in hundredths of a second, whatever the kernel's own tick is. */
    private static final double TICKS_PER_SECOND = 100;

    private final long messages;
    private final double seconds;
    private final double serverCpuSeconds;
    private final double startSeconds;
    private final long[] latencies;

    /** Latencies are nanoseconds, one a request; startSeconds is the time a consumer took to its first message. */
    Result(long messages, double seconds, double serverCpuSeconds, double startSeconds, long[] latencies) {
        this.messages = messages;
        this.seconds = seconds;
        this.serverCpuSeconds = serverCpuSeconds;
        this.startSeconds = startSeconds;
        this.latencies = latencies.clone();
        Arrays.sort(this.latencies);
    }

    /** CPU time (user and system) of a process so far, in seconds; 0 for process id 0 (not measured). */
    static double cpuSeconds(long pid) throws IOException {
        if (pid == 0) {
            return 0;
        }
        String stat = new String(Files.readAllBytes(Paths.get("/proc/" + pid + "/stat")));
        // Fields are counted after the name in brackets, which may hold anything.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_SECOND;
    }

    private double percentileUs(double part) {
        return latencies.length == 0 ? 0 : latencies[(int) Math.min(latencies.length - 1, part * latencies.length)] / 1e3;
    }

    String json(String mode) {
        return String.format(Locale.ROOT,
            "{\"mode\": \"%s\", \"messages\": %d, \"seconds\": %.6f, \"rate\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
                + "\"max_us\": %.1f, \"server_cpu_seconds\": %.3f, \"start_seconds\": %.3f, \"errors\": 0}",
            mode, messages, seconds, messages / seconds, percentileUs(0.50), percentileUs(0.99), percentileUs(1),
            serverCpuSeconds, startSeconds);
    }
}
