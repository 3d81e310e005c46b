package io.github.rocketwire.testing;

/** The endpoint could not be started, or refused what it was asked for; the text says what happened. */
public class RocketwireException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public RocketwireException(String message) {
        super(message);
    }

    public RocketwireException(String message, Throwable cause) {
        super(message, cause);
    }
}
