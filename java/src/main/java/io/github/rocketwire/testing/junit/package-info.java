/** The extension for JUnit 5 that starts and stops endpoints, and hands them to tests. */
package io.github.rocketwire.testing.junit;
