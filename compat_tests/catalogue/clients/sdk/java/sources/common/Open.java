package compat;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;

/** The consumers that stay open from one program to the next, by the names that requests give them. */
final class Open {
    private static final Map<String, Open> ALL = new ConcurrentHashMap<>();

    final Closeable consumer;
    /** The messages that a simple consumer received, by their ids: each as it came last. */
    final Map<String, MessageView> held = new ConcurrentHashMap<>();
    private final List<Lines.Event> unread;

    private Open(Closeable consumer, List<Lines.Event> unread) {
        this.consumer = consumer;
        this.unread = unread;
    }

    static void put(String name, Closeable consumer) {
        put(name, consumer, new ArrayList<>());
    }

    /** `unread`: what a listener has taken and nobody has asked for yet; locked by itself. */
    static void put(String name, Closeable consumer, List<Lines.Event> unread) {
        ALL.put(name, new Open(consumer, unread));
    }

    static Open of(Request in) {
        Open found = ALL.get(in.text("name"));
        if (found == null) {
            throw new IllegalStateException("nothing is open by the name " + in.text("name"));
        }
        return found;
    }

    SimpleConsumer simple() {
        return (SimpleConsumer) consumer;
    }

    /** What a listener has taken since the last time. */
    List<Lines.Event> taken() {
        synchronized (unread) {
            List<Lines.Event> all = new ArrayList<>(unread);
            unread.clear();
            return all;
        }
    }

    static void close(String name) {
        Open found = ALL.remove(name);
        if (found != null) {
            Thread leaving = new Thread(() -> close(found.consumer));
            leaving.setDaemon(true);
            leaving.start();
        }
    }

    private static void close(Closeable consumer) {
        try {
            consumer.close();
        } catch (IOException problem) {
            problem.printStackTrace();
        }
    }
}
