/**
 * The official Java client under a stop watch; see Orders.
 *
 * Workloads: sync, async, batch (see SendBench), push, lite (see DrainBench).
 */
public final class Bench {
    private Bench() {
    }

    public static void main(String[] args) throws Exception {
        Orders.serve(Bench::run);
    }

    private static Result run(String workload, Settings settings) throws Exception {
        switch (workload) {
            case "sync":
                return new SendBench(settings).sync();
            case "async":
                return new SendBench(settings).async();
            case "batch":
                return new SendBench(settings).batch();
            case "push":
                return new DrainBench(settings).push();
            case "lite":
                return new DrainBench(settings).lite();
            default:
                throw new IllegalArgumentException("no such workload: " + workload);
        }
    }
}
