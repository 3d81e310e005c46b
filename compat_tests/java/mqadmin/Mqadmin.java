package compat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * A command of the official tool, as `mqadmin` runs it: its output line by line, and what it writes to the standard error, without the
 * frames of stacks.
 */
final class Mqadmin {
    private Mqadmin() {
    }

    public static void mqadmin(Request in, Out out) throws Exception {
        System.setProperty("rocketmq.namesrv.addr", in.text("namesrv"));
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        PrintStream out0 = System.out;
        PrintStream err0 = System.err;
        System.setOut(new PrintStream(printed, true, "UTF-8"));
        System.setErr(new PrintStream(errors, true, "UTF-8"));
        try {
            String[] args = in.all("arg").toArray(new String[0]);
            forget();
            Thread command = new Thread(() -> MQAdminStartup.main0(args, null), "mqadmin");
            command.start();
            while (command.isAlive()) {
                if (Clients.hasLeft(command)) {
                    command.interrupt(); // 5.x waits up to 3 s for its threads; only then a command reports its failure
                }
                command.join(10);
            }
        } finally {
            System.setOut(out0);
            System.setErr(err0);
        }
        for (String line : lines(printed)) {
            out.event("line").put("text", line).print();
        }
        for (String line : lines(errors)) {
            if (!line.isEmpty() && !line.matches("\\s+(at |\\.\\.\\. [0-9]+ (common frames|more)).*")) {
                out.event("error").put("text", line).print();
            }
        }
        err0.print(new String(errors.toByteArray(), StandardCharsets.UTF_8));
    }

    /** Starts a producer that stays until the JVM ends: it is connected to the topic's brokers once it has sent one message. */
    public static void stayProducer(Request in, Out out) throws Exception {
        DefaultMQProducer producer = Clients.producer(in);
        out.sent(producer.send(new Message(in.text("topic"), "stay".getBytes(StandardCharsets.UTF_8))));
        producer.getDefaultMQProducerImpl().getmQClientFactory().sendHeartbeatToAllBrokerWithLock();
    }

    /** Has the tool make its commands again: they keep clients that have been shut down. */
    private static void forget() throws Exception {
        for (Field field : MQAdminStartup.class.getDeclaredFields()) {
            if (List.class.isAssignableFrom(field.getType())) {
                field.setAccessible(true);
                ((List<?>) field.get(null)).clear();
            }
        }
    }

    private static String[] lines(ByteArrayOutputStream bytes) {
        return new String(bytes.toByteArray(), StandardCharsets.UTF_8).split("\n");
    }
}
