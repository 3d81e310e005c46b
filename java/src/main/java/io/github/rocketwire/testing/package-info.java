/**
 * A RocketMQ endpoint for tests. {@link io.github.rocketwire.testing.RocketwireServer} starts it as a process; the
 * packages {@code junit} and {@code testcontainers} start it for JUnit 5 and in a container.
 */
package io.github.rocketwire.testing;
