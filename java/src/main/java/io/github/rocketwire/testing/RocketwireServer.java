package io.github.rocketwire.testing;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * An endpoint in a separate process on this machine, on free ports of 127.0.0.1; any number can run side by side. *
 * <pre>{@code
 * try (RocketwireServer rocketmq = RocketwireServer.start()) {
 *     rocketmq.createTopic("Orders", 4);
 *     producer.setNamesrvAddr(rocketmq.namesrv());
 * }
 * }</pre>
 *
 * <p>It runs the program {@code rocketwire}: that of the system property {@code rocketwire.command}, else of the
 * environment variable {@code ROCKETWIRE_COMMAND}, else of the PATH. The process ends with {@link #close}, or with the
 * JVM.
 */
public final class RocketwireServer implements RocketwireEndpoint, AutoCloseable {
    private final ServerProcess process;
    private final Path temporary;
    private final Thread atExit = new Thread(this::stop, "rocketwire-stop");
    private String namesrv;
    private String broker;
    private String http;
    private String grpc;
    private String store;
    private long pid;
    private boolean stopped;

    private RocketwireServer(Builder builder) {
        List<String> words = builder.program();
        temporary = builder.store == null ? TemporaryStore.make() : null;
        try {
            process = new ServerProcess(builder.command(words, temporary == null ? builder.store : temporary));
        } catch (RocketwireException error) {
            removeTemporary();
            throw error;
        }
        Runtime.getRuntime().addShutdownHook(atExit);
        try {
            readyAt(Json.object(process.waitForReadyLine(builder.startTimeout)));
        } catch (RocketwireException error) {
            close();
            throw error;
        }
    }

    private void readyAt(Map<String, Object> line) {
        namesrv = (String) line.get("namesrv");
        broker = (String) line.get("broker");
        http = (String) line.get("http");
        grpc = (String) line.get("grpc");
        store = (String) line.get("store");
        pid = (Long) line.get("pid");
    }

    /**
     * Starts one with the default settings and an empty store.
     *
     * @throws RocketwireException when there is no program, or it does not start; the text has the reason
     */
    public static RocketwireServer start() {
        return builder().start();
    }

    /** To start one with other settings. */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public String namesrv() {
        return namesrv;
    }

    @Override
    public String broker() {
        return broker;
    }

    @Override
    public String http() {
        return http;
    }

    /** The address for clients of 5.x, as HOST:PORT. */
    public String grpc() {
        return grpc;
    }

    /** The folder of its store. */
    public String store() {
        return store;
    }

    /** The id of its process. */
    public long pid() {
        return pid;
    }

    /** Whether the process runs. */
    public boolean isRunning() {
        return process.isAlive();
    }

    /** The last 500 lines of its log. */
    public String log() {
        return process.log();
    }

    /** Stops it, and removes its store unless that was named. A second call does nothing. */
    @Override
    public void close() {
        stop();
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException exiting) {
            // The JVM ends, and has called stop or waits for it.
        }
    }

    private synchronized void stop() {
        if (!stopped) {
            stopped = true;
            process.stop();
            removeTemporary();
        }
    }

    private void removeTemporary() {
        if (temporary != null) {
            TemporaryStore.remove(temporary);
        }
    }

    @Override
    public String toString() {
        return "rocketwire at " + namesrv;
    }

    /** The settings of a server that is not started yet. */
    public static final class Builder {
        private final Map<String, String> settings = new LinkedHashMap<>();
        private final List<String> faults = new ArrayList<>();
        private final List<String> options = new ArrayList<>();
        private List<String> program;
        private Path store;
        private Duration startTimeout = Duration.ofMinutes(2);

        private Builder() {
            settings.put("movableClock", "true");
            settings.put("faultInjectionEnable", "true");
            // The usage of the machine's disk, and a machine that is busy, must not matter to a test.
            settings.put("diskSpaceWarningLevelRatio", "100");
            settings.put("diskSpaceCleanForciblyRatio", "100");
            settings.put("brokerFastFailureEnable", "false");
        }

        /** Sets a key of {@code broker.conf}. */
        public Builder set(String key, String value) {
            settings.put(key, value);
            return this;
        }

        /** Adds a rule of faults that is in force from the start. */
        public Builder fault(String rule) {
            faults.add(rule);
            return this;
        }

        /** Adds words to the command line of {@code rocketwire serve}. */
        public Builder options(String... words) {
            options.addAll(Arrays.asList(words));
            return this;
        }

        /** Names the folder of the store, which is then kept. */
        public Builder store(Path folder) {
            store = folder;
            return this;
        }

        /** Names the program, and words that stand before {@code serve}. */
        public Builder command(String... words) {
            program = Arrays.asList(words);
            return this;
        }

        /** How long the start may take; two minutes if not set. */
        public Builder startTimeout(Duration within) {
            startTimeout = within;
            return this;
        }

        /**
         * Starts it, and returns when clients can use it.
         *
         * @throws RocketwireException when there is no program, or it does not start; the text has the reason
         */
        public RocketwireServer start() {
            return new RocketwireServer(this);
        }

        private List<String> program() {
            return program == null ? Program.find(System.getProperties(), System.getenv()) : program;
        }

        private List<String> command(List<String> words, Path folder) {
            List<String> command = new ArrayList<>(words);
            command.addAll(Arrays.asList("serve", "--json-ready", "--end-with", ServerProcess.idOfThisJvm()));
            for (String listener : Arrays.asList("--namesrv", "--broker", "--http", "--grpc")) {
                command.addAll(Arrays.asList(listener, "127.0.0.1:0"));
            }
            command.addAll(Arrays.asList("--store", folder.toString()));
            settings.forEach((key, value) -> command.addAll(Arrays.asList("--set", key + "=" + value)));
            faults.forEach(rule -> command.addAll(Arrays.asList("--fault", rule)));
            command.addAll(options);
            return command;
        }
    }
}
