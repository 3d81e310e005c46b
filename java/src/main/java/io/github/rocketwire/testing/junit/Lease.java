package io.github.rocketwire.testing.junit;

import io.github.rocketwire.testing.RocketwireServer;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The use of a server by one test or class. JUnit closes it with the context in whose store it is. */
final class Lease implements ExtensionContext.Store.CloseableResource, AutoCloseable {
    private final SharedServer shared;
    private final RocketwireServer server;

    Lease(SharedServer shared, RocketwireServer server) {
        this.shared = shared;
        this.server = server;
    }

    RocketwireServer server() {
        return server;
    }

    @Override
    public void close() {
        shared.giveBack();
    }
}
