package io.github.rocketwire.testing.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.rocketwire.testing.RocketwireEndpoint;
import io.github.rocketwire.testing.RocketwireServer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.platform.engine.discovery.ClassSelector;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;

/** Which tests share an endpoint, in each way to request one. Each runs the tests of a class below. */
class RocketwireExtensionTest {
    private static final List<RocketwireServer> SEEN = new CopyOnWriteArrayList<>();

    private static void see(RocketwireEndpoint endpoint) {
        RocketwireServer server = (RocketwireServer) endpoint;
        assertTrue(server.isRunning());
        SEEN.add(server);
    }

    @BeforeEach
    void forget() {
        SEEN.clear();
    }

    private static EngineExecutionResults run(Class<?>... classes) {
        return EngineTestKit.engine("junit-jupiter")
                .selectors(Arrays.stream(classes).map(each -> selectClass(each)).toArray(ClassSelector[]::new))
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .execute();
    }

    /** Runs the classes, whose tests must pass; the servers that were seen, none of which may run any more. */
    private static Set<RocketwireServer> serversOf(int tests, Class<?>... classes) {
        EngineExecutionResults results = run(classes);
        results.allEvents().failed().stream().forEach(each -> {
            throw new AssertionError(each.toString());
        });
        results.testEvents().assertStatistics(counted -> counted.succeeded(tests));
        SEEN.forEach(each -> assertFalse(each.isRunning(), "a server was left running"));
        return new HashSet<>(SEEN);
    }

    private static String failureOf(Class<?> type) {
        return run(type).allEvents().failed().stream()
                .map(each -> each.getPayload().get().toString())
                .collect(Collectors.joining());
    }

    @Test
    void theTestsOfAClassShareOne() {
        assertEquals(1, serversOf(3, Annotated.class).size());
        assertEquals(6, SEEN.size());
    }

    @Rocketwire(set = "brokerName=of-a-class", faults = "delay:1,code=310")
    static class Annotated {
        Annotated(RocketwireServer rocketmq) {
            see(rocketmq);
        }

        @BeforeAll
        static void start(RocketwireServer rocketmq) {
            assertEquals(
                    "delay:1:request,code=SEND_MESSAGE_V2",
                    rocketmq.faults().list().get(0).rule());
        }

        @Test
        void one(RocketwireServer rocketmq) {
            see(rocketmq);
        }

        @Test
        void another(RocketwireEndpoint rocketmq) {
            see(rocketmq);
        }

        @Nested
        class Inner {
            @Test
            void nested(RocketwireServer rocketmq) {
                see(rocketmq);
            }
        }
    }

    @Test
    void aNestedClassMayHaveOneOfItsOwn() {
        assertEquals(2, serversOf(2, Outer.class).size());
    }

    @Rocketwire
    static class Outer {
        @Test
        void outer(RocketwireServer rocketmq) {
            see(rocketmq);
        }

        @Nested
        @Rocketwire(set = "brokerName=of-the-nested-class")
        class Inner {
            @Test
            void nested(RocketwireServer rocketmq) {
                see(rocketmq);
            }
        }
    }

    @Test
    void eachTestGetsItsOwnOnRequest() {
        assertEquals(2, serversOf(2, PerTest.class).size());
        assertEquals(4, SEEN.size());
    }

    @Rocketwire(perTest = true)
    static class PerTest {
        @BeforeEach
        void before(RocketwireServer rocketmq) {
            see(rocketmq);
        }

        @Test
        void one(RocketwireServer rocketmq) {
            see(rocketmq);
        }

        @Test
        void another(RocketwireServer rocketmq) {
            see(rocketmq);
        }
    }

    @Test
    void aConstructorCannotTakeThatOfATest() {
        String failure = failureOf(PerTestConstructor.class);
        assertTrue(failure.contains("only test methods and methods with @BeforeEach"), failure);
    }

    @Rocketwire(perTest = true)
    static class PerTestConstructor {
        PerTestConstructor(RocketwireServer rocketmq) {
            see(rocketmq);
        }

        @Test
        void never() {}
    }

    @Test
    void aStaticFieldIsOneForAClass() {
        assertEquals(1, serversOf(2, StaticField.class).size());
        assertThrows(IllegalStateException.class, () -> StaticField.rocketmq.server());
    }

    static class StaticField {
        @RegisterExtension
        static RocketwireExtension rocketmq = RocketwireExtension.builder()
                .set("brokerName", "of-a-field")
                .fault("delay:1,code=310")
                .server(server -> server.options("--log-level", "debug"))
                .build();

        @Test
        void one(RocketwireServer same) {
            see(rocketmq.server());
            assertSame(rocketmq.server(), same);
            assertEquals(1, same.faults().list().size());
        }

        @Test
        void another() {
            see(rocketmq.server());
        }
    }

    @Test
    void aStaticFieldMayBeOneForEachTest() {
        assertEquals(1, serversOf(1, StaticFieldPerTest.class).size());
    }

    static class StaticFieldPerTest {
        @RegisterExtension
        static RocketwireExtension rocketmq =
                RocketwireExtension.builder().perTest().build();

        @Test
        void one(RocketwireServer own) {
            see(own);
            assertThrows(IllegalStateException.class, () -> rocketmq.server());
        }
    }

    @Test
    void anotherFieldIsOneForEachTest() {
        assertEquals(2, serversOf(2, Field.class).size());
    }

    static class Field {
        @RegisterExtension
        RocketwireExtension rocketmq = RocketwireExtension.builder().build();

        @Test
        void one() {
            see(rocketmq.server());
        }

        @Test
        void another(RocketwireServer same) {
            assertSame(rocketmq.server(), same);
            see(same);
        }
    }

    @Test
    void classesWithTheSameFieldHaveItOneAfterTheOther() {
        assertEquals(2, serversOf(2, FirstHeir.class, SecondHeir.class).size());
    }

    static class Base {
        @RegisterExtension
        static RocketwireExtension rocketmq = RocketwireExtension.builder().build();

        @Test
        void inherited() {
            see(rocketmq.server());
        }
    }

    static class FirstHeir extends Base {}

    static class SecondHeir extends Base {}

    @Test
    void settingsThatAreNoneAreRefused() {
        String failure = failureOf(Misspelt.class);
        assertTrue(failure.contains("@Rocketwire(set = \"brokerName\"): expected KEY=VALUE"), failure);
    }

    @Rocketwire(set = "brokerName")
    static class Misspelt {
        @Test
        void never() {}
    }

    @Test
    void theExtensionAloneNamesTheAnnotation() {
        String failure = failureOf(WithoutAnnotation.class);
        assertTrue(failure.contains("write @Rocketwire in its place"), failure);
    }

    @ExtendWith(RocketwireExtension.class)
    static class WithoutAnnotation {
        @Test
        void never() {}
    }
}
