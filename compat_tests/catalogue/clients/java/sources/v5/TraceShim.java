package compat;

import org.apache.rocketmq.client.ClientConfig;

/** Sends each trace at once: without that it waits up to 5 s for more. */
final class TraceShim {
    private TraceShim() {
    }

    static void atOnce(ClientConfig client) {
        client.setTraceMsgBatchNum(1);
    }
}
