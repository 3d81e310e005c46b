/**
 * The official Java client of 5.x under a stop watch; see Orders.
 *
 * Workloads: sync, async (see SdkSends), receive, push (see SdkReceives).
 */
public final class SdkBench {
    private SdkBench() {
    }

    public static void main(String[] args) throws Exception {
        Orders.serve(SdkBench::run);
    }

    private static Result run(String workload, Settings settings) throws Exception {
        switch (workload) {
            case "sync":
                return new SdkSends(settings).sync();
            case "async":
                return new SdkSends(settings).async();
            case "receive":
                return new SdkReceives(settings).receive();
            case "push":
                return new SdkReceives(settings).push();
            default:
                throw new IllegalArgumentException("no such workload: " + workload);
        }
    }
}
