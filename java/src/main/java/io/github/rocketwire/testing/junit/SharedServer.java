package io.github.rocketwire.testing.junit;

import io.github.rocketwire.testing.RocketwireServer;

/** A server that runs while a test holds a lease of it. */
final class SharedServer {
    private final RocketwireServer.Builder settings;
    private RocketwireServer server;
    private int leases;

    SharedServer(RocketwireServer.Builder settings) {
        this.settings = settings;
    }

    /** Takes a lease; the first one starts the server. */
    synchronized Lease lease() {
        if (leases == 0) {
            server = settings.start();
        }
        leases++;
        return new Lease(this, server);
    }

    /** The server, or null when there is no lease. */
    synchronized RocketwireServer server() {
        return server;
    }

    synchronized void giveBack() {
        leases--;
        if (leases == 0) {
            RocketwireServer last = server;
            server = null;
            last.close();
        }
    }
}
