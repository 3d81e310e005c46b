package io.github.rocketwire.testing;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/**
 * The clock of an endpoint. It runs as the machine's does, ahead of it by what it was advanced. What comes due by an
 * advance comes at once: delayed and timed messages, retries, checks of transactions.
 */
public final class EndpointClock {
    private static final String PATH = "/clock";
    private final HttpCalls http;

    EndpointClock(HttpCalls http) {
        this.http = http;
    }

    /**
     * Moves the clock ahead.
     *
     * @param by in whole milliseconds, not negative
     * @throws IllegalArgumentException when it is negative
     */
    public void advance(Duration by) {
        if (by.isNegative()) {
            throw new IllegalArgumentException("a clock cannot be moved back: " + by);
        }
        http.call("POST", PATH, "{\"advance\":" + by.toMillis() + "}", 200);
    }

    /** The endpoint's time. */
    public Instant now() {
        return Instant.ofEpochMilli(number("now"));
    }

    /** How far the clock is ahead of the machine's. */
    public Duration advanced() {
        return Duration.ofMillis(number("advanced"));
    }

    private long number(String name) {
        Map<String, Object> answer = Json.object(http.call("GET", PATH, null, 200));
        return (Long) answer.get(name);
    }
}
