package compat;

/** Ends all consumers that stay. */
public final class LeaveAll implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Held.leaveAll();
    }
}
