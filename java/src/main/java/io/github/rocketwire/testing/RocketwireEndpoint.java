package io.github.rocketwire.testing;

import java.util.UUID;

/** A name server and a broker that a test talks to. Its methods may be called by several threads at once. */
public interface RocketwireEndpoint {
    /** The name server's address, HOST:PORT, as clients take it. */
    String namesrv();

    /** The broker's address, HOST:PORT, as clients get it from the name server. */
    String broker();

    /** The address of the HTTP port, HOST:PORT: {@code /metrics}, {@code /readyz}, {@code /faults}, {@code /clock}. */
    String http();

    /** The rules of faults that are in force. */
    default Faults faults() {
        return new Faults(new HttpCalls(http()));
    }

    /** The endpoint's clock, which can be moved ahead. */
    default EndpointClock clock() {
        return new EndpointClock(new HttpCalls(http()));
    }

    /**
     * Creates a topic, or changes the number of its queues. Clients that query the name server afterwards find it.
     *
     * @param queues how many queues can be read and written
     * @throws RocketwireException when the broker refuses, or cannot be reached
     */
    default void createTopic(String name, int queues) {
        new TopicRequest(broker()).create(name, queues);
    }

    /**
     * A new name for a topic or group, which begins with {@code prefix}: tests that share an endpoint do not conflict.
     *
     * @param prefix letters, digits, {@code _} and {@code -}
     */
    default String uniqueName(String prefix) {
        return prefix + "-" + UUID.randomUUID().toString().replace("-", "").substring(0, 12);
    }

    /** Creates a topic with a {@linkplain #uniqueName unique name} and returns that. */
    default String createUniqueTopic(String prefix, int queues) {
        String name = uniqueName(prefix);
        createTopic(name, queues);
        return name;
    }
}
