package io.github.rocketwire.testing;

/** The endpoint could not be started, or refused a request; the text describes what happened. */
public class RocketwireException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public RocketwireException(String message) {
        super(message);
    }

    public RocketwireException(String message, Throwable cause) {
        super(message, cause);
    }
}
