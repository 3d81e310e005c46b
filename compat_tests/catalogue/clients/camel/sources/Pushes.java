package compat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.impl.DefaultCamelContext;

/** A route takes `count` messages of a topic and ends. */
final class Pushes {
    private Pushes() {
    }

    public static void pushConcurrent(Request in, Out out) throws Exception {
        AtomicInteger count = new AtomicInteger();
        try (DefaultCamelContext context = new DefaultCamelContext()) {
            String tags = Camel.encoded(in.text("expression", "*"));
            String from = Camel.endpoint(in, "&consumerGroup=" + Camel.encoded(in.text("group")) + "&subscribeTags=" + tags);
            context.addRoutes(new RouteBuilder() {
                @Override
                public void configure() {
                    from(from).process(exchange -> {
                        Camel.received(out, exchange.getIn());
                        count.incrementAndGet();
                    });
                }
            });
            context.start();
            out.event("started").print();
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(in.number("wait", Clients.LONG));
            while (count.get() < in.number("count") && System.nanoTime() < end) {
                Thread.sleep(10);
            }
            Thread.sleep(in.number("settle", 300));
        }
    }
}
