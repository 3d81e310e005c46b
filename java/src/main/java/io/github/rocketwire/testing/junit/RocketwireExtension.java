package io.github.rocketwire.testing.junit;

import io.github.rocketwire.testing.RocketwireEndpoint;
import io.github.rocketwire.testing.RocketwireServer;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Starts an endpoint for the tests of a class, or for each test, and stops it after them. Classes that run side by side
 * have separate endpoints; tests of one class that do can keep apart by {@link RocketwireServer#uniqueName}.
 *
 * <pre>{@code
 * @RegisterExtension
 * static RocketwireExtension rocketmq = RocketwireExtension.builder().set("defaultTopicQueueNums", "1").build();
 * }</pre>
 *
 * <p>{@link Rocketwire} is the same in one line. A static field is one endpoint for the class and the classes nested in
 * it; a field that is not static is one for each test.
 */
public final class RocketwireExtension
        implements Extension, BeforeAllCallback, BeforeEachCallback, ParameterResolver {
    private final Plan own;
    private final ConcurrentMap<Class<?>, Plan> annotated = new ConcurrentHashMap<>();

    /** For JUnit, which reads the settings from {@link Rocketwire}. */
    public RocketwireExtension() {
        this(null);
    }

    private RocketwireExtension(Plan own) {
        this.own = own;
    }

    /** To register an extension with other settings. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * The endpoint of the class, or of the test if the extension is in a field that is not static.
     *
     * @throws IllegalStateException when none runs, or each test has its own: that comes as a parameter
     */
    public RocketwireServer server() {
        if (own == null || own.perTest) {
            throw new IllegalStateException("each test has its own endpoint: take it as a parameter RocketwireServer");
        }
        RocketwireServer server = own.shared.server();
        if (server == null) {
            throw new IllegalStateException("the endpoint runs only during the tests of the class");
        }
        return server;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        Plan plan = plan(context);
        if (!plan.perTest) {
            takeUnlessTaken(context, plan, plan.shared);
        }
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        Plan plan = plan(context);
        takeUnlessTaken(context, plan, plan.perTest ? new SharedServer(plan.settings) : plan.shared);
    }

    /** Puts a lease where this context and those within it find it. */
    private static void takeUnlessTaken(ExtensionContext context, Plan plan, SharedServer from) {
        ExtensionContext.Store store = context.getStore(Namespace.create(RocketwireExtension.class));
        if (store.get(plan) == null) {
            store.put(plan, from.lease());
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == RocketwireServer.class || type == RocketwireEndpoint.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        ExtensionContext.Store store = context.getStore(Namespace.create(RocketwireExtension.class));
        Lease lease = store.get(plan(context), Lease.class);
        if (lease == null) {
            throw new ParameterResolutionException("each test has its own endpoint: only test methods and methods with"
                    + " @BeforeEach or @AfterEach can take it");
        }
        return lease.server();
    }

    private Plan plan(ExtensionContext context) {
        if (own != null) {
            return own;
        }
        Class<?> test = context.getRequiredTestClass();
        for (Class<?> each = test; each != null; each = each.getEnclosingClass()) {
            Rocketwire annotation = AnnotationSupport.findAnnotation(each, Rocketwire.class).orElse(null);
            if (annotation != null) {
                return annotated.computeIfAbsent(each, ignored -> Plan.of(annotation));
            }
        }
        throw new ExtensionConfigurationException(test + " has no annotation @Rocketwire, which @ExtendWith("
                + "RocketwireExtension.class) needs: write @Rocketwire in its place");
    }

    /** What is started, and for whom. */
    private static final class Plan {
        final RocketwireServer.Builder settings;
        final SharedServer shared;
        final boolean perTest;

        Plan(RocketwireServer.Builder settings, boolean perTest) {
            this.settings = settings;
            this.shared = new SharedServer(settings);
            this.perTest = perTest;
        }

        static Plan of(Rocketwire annotation) {
            RocketwireServer.Builder settings = RocketwireServer.builder();
            for (String each : annotation.set()) {
                int equals = each.indexOf('=');
                if (equals < 1) {
                    throw new ExtensionConfigurationException(
                            "@Rocketwire(set = \"" + each + "\"): expected KEY=VALUE");
                }
                settings.set(each.substring(0, equals), each.substring(equals + 1));
            }
            for (String rule : annotation.faults()) {
                settings.fault(rule);
            }
            return new Plan(settings, annotation.perTest());
        }
    }

    /** The settings of an extension. */
    public static final class Builder {
        private final RocketwireServer.Builder settings = RocketwireServer.builder();
        private boolean perTest;

        private Builder() {}

        /** Sets a key of {@code broker.conf}. */
        public Builder set(String key, String value) {
            settings.set(key, value);
            return this;
        }

        /** Adds a rule of faults that is in force from the start. */
        public Builder fault(String rule) {
            settings.fault(rule);
            return this;
        }

        /** Changes what has no method here. */
        public Builder server(Consumer<RocketwireServer.Builder> change) {
            change.accept(settings);
            return this;
        }

        /** Gives each test a fresh endpoint. */
        public Builder perTest() {
            perTest = true;
            return this;
        }

        public RocketwireExtension build() {
            return new RocketwireExtension(new Plan(settings, perTest));
        }
    }
}
