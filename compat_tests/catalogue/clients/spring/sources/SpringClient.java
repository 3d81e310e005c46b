package compat;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.spring.autoconfigure.RocketMQAutoConfiguration;
import org.apache.rocketmq.spring.core.RocketMQTemplate;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.GenericApplicationContext;

/**
 * A Spring application that the starter configures by its properties. Its producer and its listeners' consumers get what the
 * programs of Apache's Java client give theirs: different names, heartbeats every 2 s and longer time-outs.
 */
final class SpringClient implements AutoCloseable {
    private final ConfigurableApplicationContext context;

    @Configuration
    @ImportAutoConfiguration(RocketMQAutoConfiguration.class)
    static class Application {
    }

    private SpringClient(ConfigurableApplicationContext context) {
        this.context = context;
    }

    /** An application that only sends. */
    static SpringClient sending(Request in) {
        return started(in, Map.of(), message -> { });
    }

    /**
     * An application with a template and the listeners, whose annotations name the placeholders compat.topic, compat.group and
     * compat.expression; each message goes to `handler`.
     */
    static SpringClient started(Request in, Map<String, Object> more, Consumer<MessageExt> handler, Class<?>... listeners) {
        Map<String, Object> properties = properties(in);
        properties.putAll(more);
        ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class).sources(listeners)
            .web(WebApplicationType.NONE).bannerMode(Banner.Mode.OFF).registerShutdownHook(false).logStartupInfo(false)
            .properties(properties)
            .initializers(fresh -> register((GenericApplicationContext) fresh, new Handler(in, handler), in)).run();
        return new SpringClient(context);
    }

    private static void register(GenericApplicationContext context, Handler handler, Request in) {
        context.registerBean(Handler.class, () -> handler);
        context.getBeanFactory().addBeanPostProcessor(new BeanPostProcessor() {
            @Override
            public Object postProcessBeforeInitialization(Object bean, String name) {
                return bean instanceof DefaultMQProducer ? Clients.own((ClientConfig) bean, in) : bean;
            }
        });
    }

    private static Map<String, Object> properties(Request in) {
        Map<String, Object> properties = new HashMap<>();
        properties.put("logging.level.root", "WARN");
        properties.put("rocketmq.name-server", in.text("namesrv"));
        properties.put("rocketmq.producer.group", in.text("producerGroup", "compat_producer"));
        properties.put("rocketmq.producer.send-message-timeout", 30_000);
        properties.put("rocketmq.producer.retry-times-when-send-failed", in.number("retries", 2));
        properties.put("rocketmq.producer.compress-message-body-threshold", in.number("compressOver", 4096));
        properties.put("rocketmq.producer.max-message-size", in.number("maxMessageSize", 4 << 20));
        if (!in.all("accessKey").isEmpty()) {
            for (String side : new String[] {"producer", "consumer"}) {
                properties.put("rocketmq." + side + ".access-key", in.text("accessKey"));
                properties.put("rocketmq." + side + ".secret-key", in.text("secretKey"));
            }
        }
        String tls = System.getProperty("tls.enable", "false"); // the starter takes it from its own properties
        properties.put("rocketmq.producer.tls-enable", tls);
        properties.put("compat.tls", tls);
        properties.put("compat.topic", in.text("topic"));
        properties.put("compat.group", in.text("group", "compat"));
        properties.put("compat.expression", in.text("expression", "*"));
        return properties;
    }

    RocketMQTemplate template() {
        return context.getBean(RocketMQTemplate.class);
    }

    @Override
    public void close() {
        try {
            Clients.leave(context::close);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
