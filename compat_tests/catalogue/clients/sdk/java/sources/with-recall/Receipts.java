package compat;

import org.apache.rocketmq.client.apis.producer.SendReceipt;

/** What receipts have since 5.0.8. */
final class Receipts {
    private Receipts() {
    }

    static String handle(SendReceipt receipt) {
        return receipt.getRecallHandle();
    }
}
