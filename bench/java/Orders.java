import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Reads one order a line from standard input, "WORKLOAD key=value ...", answers each with one line of JSON, and ends
 * at the end of input. One process serves all workloads and both sides, so that both get a client that is equally warm.
 */
final class Orders {
    /** Carries out one order. */
    interface Program {
        Result run(String workload, Settings settings) throws Exception;
    }

    private Orders() {
    }

    static void serve(Program program) throws Exception {
        BufferedReader orders =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            System.out.println(run(program, order.trim()));
            System.out.flush();
        }
        System.exit(0);
    }

    private static String run(Program program, String order) {
        String[] words = order.split(" +");
        Map<String, String> given = new HashMap<>();
        for (int i = 1; i < words.length; i++) {
            given.put(words[i].substring(0, words[i].indexOf('=')), words[i].substring(words[i].indexOf('=') + 1));
        }
        try {
            return program.run(words[0], new Settings(given)).json(words[0]);
        } catch (Exception e) {
            return String.format(Locale.ROOT, "{\"mode\": \"%s\", \"errors\": 1, \"error\": \"%s\"}", words[0],
                String.valueOf(e).replaceAll("[\"\\\\\\p{Cntrl}]", "'"));
        }
    }
}
