package io.github.rocketwire.testing;

import java.util.Map;

/** A rule of faults that is in force. */
public final class FaultRule {
    private final long id;
    private final long struck;
    private final boolean spent;
    private final String rule;

    private FaultRule(long id, long struck, boolean spent, String rule) {
        this.id = id;
        this.struck = struck;
        this.spent = spent;
        this.rule = rule;
    }

    static FaultRule of(Map<?, ?> value) {
        return new FaultRule(
                (Long) value.get("id"),
                (Long) value.get("struck"),
                (Boolean) value.get("spent"),
                (String) value.get("rule"));
    }

    /** The number by which {@link Faults#remove} knows it. */
    public long id() {
        return id;
    }

    /** How many requests it has matched. */
    public long struck() {
        return struck;
    }

    /** Whether it has matched as many requests as its {@code count} allows. */
    public boolean isSpent() {
        return spent;
    }

    /** Its text, with defaults and with names for numbers: {@code drop:request,code=SEND_MESSAGE_V2}. */
    public String rule() {
        return rule;
    }

    @Override
    public String toString() {
        return id + " struck=" + struck + " " + rule;
    }
}
