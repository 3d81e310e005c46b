package compat;

import org.apache.rocketmq.client.apis.producer.SendReceipt;

/** What receipts lack here. */
final class Receipts {
    private Receipts() {
    }

    static String handle(SendReceipt receipt) {
        return null;
    }
}
