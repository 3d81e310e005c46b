package compat;

import org.apache.rocketmq.client.ClientConfig;

/** 5.x waits up to 5 s for more unless an option prevents it: 4.x does not wait. */
final class TraceShim {
    private TraceShim() {
    }

    static void atOnce(ClientConfig client) {
        // sends what it has within milliseconds
    }
}
