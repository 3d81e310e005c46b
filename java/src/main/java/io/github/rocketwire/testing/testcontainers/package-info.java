/** The endpoint in a container, started by Testcontainers. */
package io.github.rocketwire.testing.testcontainers;
