package io.github.rocketwire.testing;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * The request UPDATE_AND_CREATE_TOPIC of RocketMQ's remoting protocol, as Apache's admin tools send it. The library
 * speaks that much of the protocol itself: no version of a client has to be there, and no other program be started.
 */
final class TopicRequest {
    private static final int UPDATE_AND_CREATE_TOPIC = 17;
    private static final int READ_AND_WRITE = 6;
    private static final int WITHIN = 30_000;
    private static final int LONGEST_ANSWER = 1 << 20;

    private final String broker;

    TopicRequest(String broker) {
        this.broker = broker;
    }

    /** Creates the topic; the broker registers it before it answers. Throws RocketwireException when it refuses. */
    void create(String topic, int queues) {
        String fields = "{\"topic\":" + Json.string(topic)
                + ",\"defaultTopic\":\"TBW102\",\"readQueueNums\":\"" + queues + "\",\"writeQueueNums\":\"" + queues
                + "\",\"perm\":\"" + READ_AND_WRITE
                + "\",\"topicFilterType\":\"SINGLE_TAG\",\"topicSysFlag\":\"0\",\"order\":\"false\"}";
        Map<String, Object> answer = exchange("{\"code\":" + UPDATE_AND_CREATE_TOPIC
                + ",\"language\":\"JAVA\",\"version\":0,\"opaque\":1,\"flag\":0"
                + ",\"serializeTypeCurrentRPC\":\"JSON\",\"extFields\":" + fields + "}");
        if (!Long.valueOf(0).equals(answer.get("code"))) {
            throw new RocketwireException("the broker refused topic " + topic + " with code " + answer.get("code")
                    + ": " + answer.get("remark"));
        }
    }

    /** Sends a frame of this header and returns the answer's header. */
    private Map<String, Object> exchange(String text) {
        byte[] header = text.getBytes(StandardCharsets.UTF_8);
        int colon = broker.lastIndexOf(':');
        int port = Integer.parseInt(broker.substring(colon + 1));
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(broker.substring(0, colon), port), WITHIN);
            socket.setSoTimeout(WITHIN);
            // The length of the rest; then that of the header, whose first byte is 0 for JSON.
            ByteBuffer frame = ByteBuffer.allocate(8 + header.length).putInt(4 + header.length).putInt(header.length);
            socket.getOutputStream().write(frame.put(header).array());
            DataInputStream in = new DataInputStream(socket.getInputStream());
            int size = in.readInt();
            int length = in.readInt() & 0xFFFFFF;
            if (size > LONGEST_ANSWER || length > size - 4) {
                throw new IOException("an answer of " + size + " bytes");
            }
            byte[] answer = new byte[length];
            in.readFully(answer);
            return Json.object(new String(answer, StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new RocketwireException("the broker " + broker + " did not answer: " + error, error);
        }
    }
}
