package compat;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Runs scenarios one after another in one JVM, since starting a JVM costs more than most of them.
 * Each line of standard input is one request (see Request); each line of standard output one JSON object;
 * an object whose event is "done" ends a request. The end of standard input ends the JVM.
 */
public final class Runner {
    public static void main(String[] args) throws Exception {
        Out out = new Out(new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8"));
        System.setOut(System.err); // whatever a library prints must not mix with the JSON lines
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        out.event("ready").put("java", System.getProperty("java.version")).print();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            serve(line, out);
        }
        System.exit(0); // client threads that a failed scenario left behind must not keep the JVM
    }

    private static void serve(String line, Out out) {
        try {
            Request request = Request.parse(line);
            Scenario scenario = (Scenario) Class.forName("compat." + request.name()).getDeclaredConstructor().newInstance();
            scenario.run(request, out);
        } catch (Throwable problem) {
            out.failure("crashed", problem);
        }
        out.event("done").print();
    }
}
