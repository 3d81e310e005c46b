import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** A run of a warm-up and a measured time: of threads that do something again and again, or of calls in flight. */
final class Timed {
    /** What a thread does again and again; its latency is recorded. It counts messages itself. */
    interface Step {
        void once() throws Exception;
    }

    /** Begins something whose end is reported to `done`, once. */
    interface Begun {
        void once(Done done) throws Exception;
    }

    /** Gets the end of something begun; an error, or null. */
    interface Done {
        void end(Exception error);
    }

    private final Settings settings;
    private final AtomicReference<Exception> failure = new AtomicReference<>();
    private final AtomicLong messages = new AtomicLong();
    private volatile boolean measuring;
    private volatile boolean stopping;

    Timed(Settings settings) {
        this.settings = settings;
    }

    /** Counts messages, if it is time. */
    void count(int done) {
        if (measuring) {
            messages.addAndGet(done);
        }
    }

    /** How many were counted. */
    long counted() {
        return messages.get();
    }

    void failed(Exception e) {
        failure.compareAndSet(null, e);
        stopping = true;
    }

    /** Ends the measured time before it is over. */
    void stop() {
        stopping = true;
    }

    /** Lets the warm-up and the measured time pass; returns seconds measured and the server's CPU seconds in them. */
    double[] measure() throws Exception {
        pause(settings.warmup);
        double cpu = Result.cpuSeconds(settings.serverPid);
        long from = System.nanoTime();
        measuring = true;
        pause(settings.seconds);
        measuring = false;
        double seconds = (System.nanoTime() - from) / 1e9;
        cpu = Result.cpuSeconds(settings.serverPid) - cpu;
        stopping = true;
        return new double[] {seconds, cpu};
    }

    private void pause(double seconds) throws InterruptedException {
        long until = System.nanoTime() + (long) (seconds * 1e9);
        while (!stopping && System.nanoTime() < until) {
            TimeUnit.NANOSECONDS.sleep(Math.min(50_000_000L, Math.max(1, until - System.nanoTime())));
        }
    }

    void rethrow() throws Exception {
        if (failure.get() != null) {
            throw failure.get();
        }
    }

    /** The settings' number of threads, each doing the step again and again. */
    Result threads(Step step) throws Exception {
        Latencies[] latencies = new Latencies[settings.threads];
        Thread[] threads = new Thread[settings.threads];
        for (int i = 0; i < threads.length; i++) {
            Latencies mine = latencies[i] = new Latencies();
            threads[i] = new Thread(() -> repeat(step, mine));
            threads[i].start();
        }
        double[] took = measure();
        for (Thread thread : threads) {
            thread.join();
        }
        rethrow();
        return new Result(messages.get(), took[0], took[1], 0, Latencies.join(latencies));
    }

    private void repeat(Step step, Latencies mine) {
        try {
            while (!stopping) {
                long from = System.nanoTime();
                step.once();
                if (measuring) {
                    mine.add(System.nanoTime() - from);
                }
            }
        } catch (Exception e) {
            failed(e);
        }
    }

    /** One thread that keeps a bounded number of messages in flight. */
    Result inFlight(Begun begun) throws Exception {
        Semaphore room = new Semaphore(settings.inFlight);
        // Answers come in several threads of the client.
        Queue<Latencies> all = new ConcurrentLinkedQueue<>();
        ThreadLocal<Latencies> latencies = ThreadLocal.withInitial(() -> {
            Latencies mine = new Latencies();
            all.add(mine);
            return mine;
        });
        Thread sender = new Thread(() -> {
            try {
                while (!stopping) {
                    room.acquire();
                    long from = System.nanoTime();
                    begun.once(error -> {
                        if (error != null) {
                            failed(error);
                        } else if (measuring) {
                            count(1);
                            latencies.get().add(System.nanoTime() - from);
                        }
                        room.release();
                    });
                }
                room.tryAcquire(settings.inFlight, 10, TimeUnit.SECONDS);
            } catch (Exception e) {
                failed(e);
            }
        });
        sender.start();
        double[] took = measure();
        sender.join();
        rethrow();
        // All were answered, or ten seconds are over: no thread adds to its latencies any more.
        return new Result(messages.get(), took[0], took[1], 0, Latencies.join(all.toArray(new Latencies[0])));
    }
}
