package compat;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/**
 * Runs programs one after another in one JVM, since starting a JVM costs more than most of them. Each line of standard input is one
 * request (see Request); each line of standard output one JSON object; an object whose event is "done" ends a request. The end of
 * standard input ends the JVM. The program `SendSync` is the method `sendSync` of one of the classes below; it prints what the
 * client sees, and the Python side judges.
 */
public final class Runner {
    /** The classes that may have programs; each client has some of them. */
    private static final String[] ROOMS = {
        "Sends", "Transactions", "Pulls", "Pushes", "Failing", "Held", "GroupChanges", "Queries", "Timers", "Traces", "Lite", "OrderedGroup",
        "RequestReply", "Producers", "Consumers", "Recalls", "Mqadmin",
    };

    public static void main(String[] args) throws Exception {
        Out out = new Out(new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8"));
        System.setOut(System.err); // whatever a library prints must not mix with the JSON lines
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        out.event("ready").put("java", System.getProperty("java.version")).print();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            serve(line, out);
        }
        System.exit(0); // client threads that a failed program left behind must not keep the JVM
    }

    private static void serve(String line, Out out) {
        try {
            Request request = Request.parse(line);
            program(request.name()).invoke(null, request, out);
        } catch (InvocationTargetException thrown) {
            out.failure("crashed", thrown.getCause());
        } catch (Throwable problem) {
            out.failure("crashed", problem);
        }
        out.event("done").print();
    }

    private static Method program(String name) throws NoSuchMethodException {
        String method = Character.toLowerCase(name.charAt(0)) + name.substring(1);
        for (String room : ROOMS) {
            try {
                return Class.forName("compat." + room).getMethod(method, Request.class, Out.class);
            } catch (ClassNotFoundException | NoSuchMethodException elsewhere) {
                // another class may have it
            }
        }
        throw new NoSuchMethodException("the client offers no program " + name);
    }
}
