package compat;

/** One thing an official client does. Prints what it saw through `out`; judging is the Python side's. */
public interface Scenario {
    void run(Request in, Out out) throws Exception;
}
