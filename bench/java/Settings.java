import java.util.Map;

/** The key=value words of an order; a missing one takes its default. */
final class Settings {
    final String nameServer;
    /** Where clients of 5.x are served. */
    final String front;
    final String group;
    final String topic;
    final int threads;
    final int inFlight;
    final int size;
    final int batch;
    final int count;
    final double warmup;
    final double seconds;
    final long serverPid;
    /** Makes client instances and consumer groups of this order distinct from all others of the process. */
    final String unique = Long.toString(System.nanoTime(), 36);

    Settings(Map<String, String> given) {
        nameServer = given.getOrDefault("namesrv", "127.0.0.1:9876");
        front = given.getOrDefault("front", "127.0.0.1:8081");
        group = given.getOrDefault("group", "bench_java");
        topic = given.getOrDefault("topic", "BenchJava");
        threads = Integer.parseInt(given.getOrDefault("threads", "1"));
        inFlight = Integer.parseInt(given.getOrDefault("inflight", "256"));
        size = Integer.parseInt(given.getOrDefault("size", "100"));
        batch = Integer.parseInt(given.getOrDefault("batch", "32"));
        count = Integer.parseInt(given.getOrDefault("count", "0"));
        warmup = Double.parseDouble(given.getOrDefault("warmup", "1"));
        seconds = Double.parseDouble(given.getOrDefault("seconds", "3"));
        serverPid = Long.parseLong(given.getOrDefault("pid", "0"));
    }
}
