package compat;

import java.util.List;
import java.util.concurrent.TimeUnit;

/** Prints what a push consumer has taken since the last time, once there are `count`, or `wait` seconds are over; then `settle` ms. */
public final class Taken implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Open open = Open.of(in);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(in.number("wait", Sdk.LONG));
        int got = print(open.taken());
        while (got < in.number("count", 0) && System.nanoTime() < end) {
            Thread.sleep(10);
            got += print(open.taken());
        }
        Thread.sleep(in.number("settle", 300));
        print(open.taken());
    }

    private static int print(List<Lines.Event> all) {
        all.forEach(Lines.Event::print);
        return all.size();
    }
}
