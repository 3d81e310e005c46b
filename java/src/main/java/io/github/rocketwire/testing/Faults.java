package io.github.rocketwire.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The rules of faults of an endpoint: which requests it delays, loses, refuses or answers with damage. The first rule
 * that matches a request wins. The page "Fault injection" of rocketwire's documentation lists actions and conditions.
 */
public final class Faults {
    private static final String PATH = "/faults";
    private final HttpCalls http;

    Faults(HttpCalls http) {
        this.http = http;
    }

    /**
     * Appends a rule, {@code ACTION[,KEY=VALUE]...}, such as {@code drop:answer,code=310,count=1}.
     *
     * @return the rule as it is in force
     * @throws RocketwireException when the rule cannot be read; the text has the reason
     */
    public FaultRule add(String rule) {
        return rules(http.call("POST", PATH, rule, 201)).get(0);
    }

    /** The rules in force, in their order. */
    public List<FaultRule> list() {
        return rules(http.call("GET", PATH, null, 200));
    }

    /**
     * Removes one rule.
     *
     * @throws RocketwireException when it is not in force
     */
    public void remove(FaultRule rule) {
        http.call("DELETE", PATH + "?id=" + rule.id(), null, 200);
    }

    /** Removes all rules. */
    public void clear() {
        http.call("DELETE", PATH, null, 200);
    }

    private static List<FaultRule> rules(String answer) {
        List<FaultRule> found = new ArrayList<>();
        for (Object each : (List<?>) Json.object(answer).get("faults")) {
            found.add(FaultRule.of((Map<?, ?>) each));
        }
        return found;
    }
}
