package compat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** A command of the official tool, as `mqadmin` runs it; prints its output line by line. */
public final class Mqadmin implements Scenario {
    @Override
    public void run(Request in, Out out) throws Exception {
        System.setProperty("rocketmq.namesrv.addr", in.text("namesrv"));
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, "UTF-8"));
        try {
            MQAdminStartup.main0(in.all("arg").toArray(new String[0]), null);
        } finally {
            System.setOut(before);
        }
        for (String line : new String(printed.toByteArray(), StandardCharsets.UTF_8).split("\n")) {
            out.event("line").put("text", line).print();
        }
    }
}
