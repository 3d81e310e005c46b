package compat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.camel.Exchange;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.impl.DefaultCamelContext;

/** A route takes `count` messages of a topic and ends. */
public final class PushConcurrent implements Scenario {
    private final AtomicInteger count = new AtomicInteger();

    @Override
    public void run(Request in, Out out) throws Exception {
        try (DefaultCamelContext context = new DefaultCamelContext()) {
            String tags = Camel.encoded(in.text("expression", "*"));
            String from = Camel.endpoint(in, "&consumerGroup=" + Camel.encoded(in.text("group")) + "&subscribeTags=" + tags);
            context.addRoutes(new RouteBuilder() {
                @Override
                public void configure() {
                    from(from).process(exchange -> take(out, exchange));
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

    private void take(Out out, Exchange exchange) throws Exception {
        Camel.received(out, exchange.getIn());
        count.incrementAndGet();
    }
}
