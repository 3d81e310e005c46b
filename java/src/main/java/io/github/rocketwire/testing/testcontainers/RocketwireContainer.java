package io.github.rocketwire.testing.testcontainers;

import com.github.dockerjava.api.command.InspectContainerResponse;
import io.github.rocketwire.testing.RocketwireEndpoint;
import io.github.rocketwire.testing.RocketwireException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.images.builder.Transferable;
import org.testcontainers.utility.DockerImageName;

/**
 * An endpoint in a container.
 *
 * <pre>{@code
 * try (RocketwireContainer rocketmq = new RocketwireContainer("rocketwire:latest")) {
 *     rocketmq.start();
 *     producer.setNamesrvAddr(rocketmq.getNamesrv());
 * }
 * }</pre>
 *
 * <p>The tests get from the name server the port of their machine to which the broker's is mapped. Containers of the
 * same network get the container's own address; they query the name server at the container's network alias, port 9876.
 */
public class RocketwireContainer extends GenericContainer<RocketwireContainer> implements RocketwireEndpoint {
    /** The ports in the container. */
    public static final int NAMESRV_PORT = 9876;

    public static final int BROKER_PORT = 10911;
    public static final int HTTP_PORT = 5557;

    private static final String WORDS = "/tmp/rocketwire-command";
    // The port of the test's machine is known only when the container runs, so it waits for its command line: one word
    // a line, the last one empty so that a file of which a part is written is not taken for the whole. The image has no
    // other programs than Python.
    private static final String START = "import os, time\n"
            + "words = ['']\n"
            + "while words[-1:] != [''] or len(words) == 1:\n"
            + "    time.sleep(0.02)\n"
            + "    if os.path.exists('" + WORDS + "'):\n"
            + "        words = open('" + WORDS + "', encoding='utf-8').read().split('\\n')\n"
            + "os.execvp(words[0], words[:-1])\n";

    private final Map<String, String> settings = new LinkedHashMap<>();
    private final List<String> faults = new ArrayList<>();

    /** Of an image that was made from rocketwire's {@code deploy/container/Containerfile}. */
    public RocketwireContainer(String image) {
        this(DockerImageName.parse(image));
    }

    public RocketwireContainer(DockerImageName image) {
        super(image);
        settings.put("movableClock", "true");
        settings.put("faultInjectionEnable", "true");
        // The usage of the machine's disk, and a machine that is busy, must not matter to a test.
        settings.put("diskSpaceWarningLevelRatio", "100");
        settings.put("diskSpaceCleanForciblyRatio", "100");
        settings.put("brokerFastFailureEnable", "false");
        withExposedPorts(NAMESRV_PORT, BROKER_PORT, HTTP_PORT);
        withCreateContainerCmdModifier(command -> command.withEntrypoint("python3", "-c", START));
        withCommand();
        waitingFor(Wait.forHttp("/readyz").forPort(HTTP_PORT).withStartupTimeout(Duration.ofMinutes(2)));
    }

    /** Sets a key of {@code broker.conf}. */
    public RocketwireContainer withSetting(String key, String value) {
        settings.put(key, value);
        return self();
    }

    /** Adds a rule of faults that is in force from the start. */
    public RocketwireContainer withFault(String rule) {
        faults.add(rule);
        return self();
    }

    /** The name server's address for clients on the test's machine. */
    public String getNamesrv() {
        return reached(NAMESRV_PORT);
    }

    @Override
    public String namesrv() {
        return getNamesrv();
    }

    @Override
    public String broker() {
        return reached(BROKER_PORT);
    }

    @Override
    public String http() {
        return reached(HTTP_PORT);
    }

    @Override
    protected void containerIsStarting(InspectContainerResponse started, boolean reused) {
        String command = String.join("\n", command()) + "\n";
        copyFileToContainer(Transferable.of(command.getBytes(StandardCharsets.UTF_8), 0644), WORDS);
    }

    private List<String> command() {
        List<String> command = new ArrayList<>(Arrays.asList("rocketwire", "serve"));
        command.addAll(Arrays.asList("--namesrv", "0.0.0.0:" + NAMESRV_PORT));
        command.addAll(Arrays.asList("--broker", "0.0.0.0:" + BROKER_PORT));
        command.addAll(Arrays.asList("--http", "0.0.0.0:" + HTTP_PORT));
        command.addAll(Arrays.asList("--advertise", "neighbours," + broker()));
        settings.forEach((key, value) -> command.addAll(Arrays.asList("--set", key + "=" + value)));
        faults.forEach(rule -> command.addAll(Arrays.asList("--fault", rule)));
        return command;
    }

    /** An address by number: the container may not know the names that the test's machine knows. */
    private String reached(int port) {
        try {
            return InetAddress.getByName(getHost()).getHostAddress() + ":" + getMappedPort(port);
        } catch (UnknownHostException error) {
            throw new RocketwireException("the container engine's host is unknown: " + getHost(), error);
        }
    }
}
