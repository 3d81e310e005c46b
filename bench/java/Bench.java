import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * The official Java client under a stop watch. Reads one order a line from standard input,
 * "WORKLOAD key=value ...", answers each with one line of JSON, and ends at the end of input. One process serves
 * all workloads and both sides, so that both meet a client that is equally warm.
 *
 * Workloads: sync, async, batch (see SendBench), push, lite (see DrainBench).
 */
public final class Bench {
    private Bench() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader orders =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            System.out.println(run(order.trim()));
            System.out.flush();
        }
        System.exit(0);
    }

    private static String run(String order) {
        String[] words = order.split(" +");
        Map<String, String> given = new HashMap<>();
        for (int i = 1; i < words.length; i++) {
            given.put(words[i].substring(0, words[i].indexOf('=')), words[i].substring(words[i].indexOf('=') + 1));
        }
        Settings settings = new Settings(given);
        try {
            switch (words[0]) {
                case "sync":
                    return new SendBench(settings).sync().json(words[0]);
                case "async":
                    return new SendBench(settings).async().json(words[0]);
                case "batch":
                    return new SendBench(settings).batch().json(words[0]);
                case "push":
                    return new DrainBench(settings).push().json(words[0]);
                case "lite":
                    return new DrainBench(settings).lite().json(words[0]);
                default:
                    throw new IllegalArgumentException("no such workload: " + words[0]);
            }
        } catch (Exception e) {
            return String.format(Locale.ROOT, "{\"mode\": \"%s\", \"errors\": 1, \"error\": \"%s\"}", words[0],
                String.valueOf(e).replaceAll("[\"\\\\\\p{Cntrl}]", "'"));
        }
    }
}
