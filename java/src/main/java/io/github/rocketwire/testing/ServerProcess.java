package io.github.rocketwire.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * A process of {@code rocketwire serve}. It gets the process with which it ends, so it never outlives this JVM, however
 * that ends.
 */
final class ServerProcess {
    private static final int LINES_KEPT = 500;
    private static final Duration STOP_WITHIN = Duration.ofSeconds(20);

    private final List<String> command;
    private final Process process;
    private final CompletableFuture<String> ready = new CompletableFuture<>();
    private final Deque<String> log = new ArrayDeque<>();
    private final Thread logReader;

    /** Starts it. Throws RocketwireException when there is no such program. */
    ServerProcess(List<String> command) {
        this.command = command;
        try {
            process = new ProcessBuilder(command).start();
        } catch (IOException error) {
            throw new RocketwireException("cannot start " + command.get(0) + ": " + error.getMessage(), error);
        }
        logReader = reader("log", process.getErrorStream(), this::keep);
        reader("output", process.getInputStream(), ready::complete);
    }

    /** The process id of this JVM: its management has it, from Java 9 on {@code ProcessHandle} would too. */
    static String idOfThisJvm() {
        return ManagementFactory.getRuntimeMXBean().getName().split("@")[0];
    }

    /**
     * Waits for the line with its addresses.
     *
     * @throws RocketwireException when it ends, or prints none in time; the text has what it wrote to stderr
     */
    String waitForReadyLine(Duration within) {
        long end = System.nanoTime() + within.toNanos();
        try {
            while (true) {
                try {
                    return ready.get(100, TimeUnit.MILLISECONDS);
                } catch (TimeoutException wait) {
                    if (!process.isAlive()) {
                        logReader.join(STOP_WITHIN.toMillis());
                        throw failed("ended with code " + process.exitValue());
                    }
                    if (System.nanoTime() > end) {
                        throw failed("was not ready within " + within.getSeconds() + " s");
                    }
                }
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new RocketwireException("interrupted while rocketwire started", error);
        } catch (ExecutionException error) {
            throw new RocketwireException("the output of rocketwire cannot be read", error);
        }
    }

    /** Whether it still runs. */
    boolean isAlive() {
        return process.isAlive();
    }

    /** Stops it, by force if it takes too long, and returns when it has ended. */
    void stop() {
        process.destroy();
        try {
            if (!process.waitFor(STOP_WITHIN.getSeconds(), TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException error) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    /** The last lines that it wrote to stderr. */
    String log() {
        synchronized (log) {
            return String.join("\n", log);
        }
    }

    private RocketwireException failed(String how) {
        String output = log();
        return new RocketwireException(String.join(" ", command) + " " + how + ": "
                + (output.isEmpty() ? "(it wrote nothing to stderr)" : output));
    }

    private void keep(String line) {
        synchronized (log) {
            log.add(line);
            if (log.size() > LINES_KEPT) {
                log.remove();
            }
        }
    }

    /** Starts a thread that hands on each line until the stream ends: a pipe without a reader would block it. */
    private static Thread reader(String name, InputStream stream, Consumer<String> take) {
        Thread thread = new Thread(
                () -> {
                    InputStreamReader text = new InputStreamReader(stream, StandardCharsets.UTF_8);
                    try (BufferedReader in = new BufferedReader(text)) {
                        for (String line = in.readLine(); line != null; line = in.readLine()) {
                            take.accept(line);
                        }
                    } catch (IOException closed) {
                        // The process has ended, and its pipes with it.
                    }
                },
                "rocketwire-" + name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
