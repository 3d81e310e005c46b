package compat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;

/**
 * The messages of a request, one `message` argument each, itself form-encoded: body (text), or size and seed (noise
 * that doesn't compress: SHA-256 of "seed:0", "seed:1", ...); tags, keys, flag, delay (a level); any p.NAME is the user
 * property NAME; any s.NAME is a property of the system, a value "+N" of it being N ms after the request was read;
 * queue is the queue it is meant for.
 */
public final class Messages {
    private Messages() {
    }

    public static final class Wanted {
        public final Message message;
        public final int queue;

        Wanted(Message message, int queue) {
            this.message = message;
            this.queue = queue;
        }
    }

    public static List<Wanted> of(Request in) throws Exception {
        List<Wanted> wanted = new ArrayList<>();
        long now = System.currentTimeMillis();
        for (String query : in.all("message")) {
            wanted.add(one(in.text("topic"), Request.decode(query), now));
        }
        return wanted;
    }

    private static Wanted one(String topic, Map<String, List<String>> fields, long now) throws Exception {
        Message message = new Message(topic, Bodies.of(fields));
        if (fields.containsKey("tags")) {
            message.setTags(Bodies.first(fields, "tags"));
        }
        if (fields.containsKey("keys")) {
            message.setKeys(Bodies.first(fields, "keys"));
        }
        if (fields.containsKey("flag")) {
            message.setFlag(Integer.parseInt(Bodies.first(fields, "flag")));
        }
        if (fields.containsKey("delay")) {
            message.setDelayTimeLevel(Integer.parseInt(Bodies.first(fields, "delay")));
        }
        if (fields.containsKey("wait")) {
            message.setWaitStoreMsgOK(Boolean.parseBoolean(Bodies.first(fields, "wait")));
        }
        for (String name : fields.keySet()) {
            if (name.startsWith("p.")) {
                message.putUserProperty(name.substring(2), Bodies.first(fields, name));
            } else if (name.startsWith("s.")) {
                String value = Bodies.first(fields, name);
                boolean later = value.startsWith("+");
                Shim.property(message, name.substring(2), later ? String.valueOf(now + Long.parseLong(value.substring(1))) : value);
            }
        }
        return new Wanted(message, fields.containsKey("queue") ? Integer.parseInt(Bodies.first(fields, "queue")) : -1);
    }
}
