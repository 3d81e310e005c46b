package io.github.rocketwire.testing.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives a test class an endpoint. Constructors, test methods and methods of the life cycle get it as a parameter.
 *
 * <pre>{@code
 * @Rocketwire(set = "messageDelayLevel=1s 5s 1h")
 * class OrdersTest {
 *     @Test
 *     void sends(RocketwireServer rocketmq) { ... }
 * }
 * }</pre>
 */
@Documented
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(RocketwireExtension.class)
public @interface Rocketwire {
    /** Keys of {@code broker.conf}, each as {@code KEY=VALUE}. */
    String[] set() default {};

    /** Rules of faults that are in force from the start. */
    String[] faults() default {};

    /** Whether each test gets a fresh endpoint; otherwise the tests of a class share one. */
    boolean perTest() default false;
}
