package io.github.rocketwire.testing;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A JVM that starts a server and never closes it. */
class JvmEndTest {
    /** The program of the other JVM. */
    static final class Forgetful {
        public static void main(String[] arguments) throws InterruptedException {
            RocketwireServer rocketmq = RocketwireServer.start();
            System.out.println(rocketmq.namesrv() + " " + rocketmq.store());
            switch (arguments[0]) {
                case "exits":
                    System.exit(0);
                    break;
                case "halts":
                    Runtime.getRuntime().halt(1);
                    break;
                default:
                    Thread.sleep(Clients.LONG.toMillis() * 10);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"exits", "halts", "is killed"})
    void theServerEndsToo(String how) throws Exception {
        Process jvm = start(how);
        String line = firstLine(jvm);
        assertNotNull(line, "the other JVM started no server");
        String[] words = line.split(" ", 2);
        if (how.equals("is killed")) {
            jvm.destroyForcibly();
        }
        assertTrue(jvm.waitFor(Clients.LONG.getSeconds(), TimeUnit.SECONDS));
        assertTrue(isSoon(() -> !serves(words[0])), "the server outlives its JVM");
        File store = new File(words[1]);
        if (!how.equals("exits")) { // a JVM that can do nothing more leaves the store, which is stopped cleanly
            assertTrue(isSoon(() -> !new File(store, "abort").exists()), "the server was killed");
            removeSoon(store);
        }
        assertTrue(isSoon(() -> !store.exists()), "the store is left behind");
    }

    private static Process start(String how) throws IOException {
        String java = System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
        String classes = System.getProperty("java.class.path");
        ProcessBuilder builder = new ProcessBuilder(
                java, "-XX:TieredStopAtLevel=1", "-cp", classes, Forgetful.class.getName(), how);
        return builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    private static String firstLine(Process jvm) throws IOException {
        return new BufferedReader(new InputStreamReader(jvm.getInputStream(), StandardCharsets.UTF_8)).readLine();
    }

    /** The last files may come and go while they are removed: the server's process is about to end. */
    private static void removeSoon(File store) throws InterruptedException {
        isSoon(() -> {
            try {
                TemporaryStore.remove(store.toPath());
                return true;
            } catch (UncheckedIOException changed) {
                return false;
            }
        });
    }

    private static boolean serves(String address) {
        String[] parts = address.split(":");
        try {
            new Socket(parts[0], Integer.parseInt(parts[1])).close();
            return true;
        } catch (IOException refused) {
            return false;
        }
    }

    private static boolean isSoon(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + Clients.LONG.toNanos();
        boolean is = condition.getAsBoolean();
        while (!is && System.nanoTime() < end) {
            Thread.sleep(20);
            is = condition.getAsBoolean();
        }
        return is;
    }
}
