package compat;

/** Acknowledges messages that a simple consumer holds, by their ids. */
public final class Ack implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        Open open = Open.of(in);
        for (String id : in.all("id")) {
            try {
                open.simple().ack(open.held.get(id));
                out.event("acked").put("msgId", id).print();
            } catch (Exception refused) {
                out.failure("refused", refused);
            }
        }
    }
}
