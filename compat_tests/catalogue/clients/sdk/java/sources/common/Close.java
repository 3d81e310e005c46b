package compat;

/** Closes the consumer of a name, and does not wait for its receives to end: the client does, for 20 s. */
public final class Close implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Open.close(in.text("name"));
    }
}
