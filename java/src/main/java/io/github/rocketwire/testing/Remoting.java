package io.github.rocketwire.testing;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * One request of RocketMQ's remoting protocol and its answer. The library speaks that much of the protocol itself: no
 * version of a client has to be there, and no other program be started.
 */
final class Remoting {
    static final long SUCCESS = 0;
    private static final int WITHIN = 30_000;
    private static final int LONGEST_ANSWER = 1 << 24;

    private Remoting() {}

    /**
     * Sends a request and returns its answer.
     *
     * @param address HOST:PORT
     * @throws RocketwireException when there is none in time
     */
    static Answer call(String address, int code, Map<String, String> fields) {
        StringBuilder header = new StringBuilder("{\"code\":" + code
                + ",\"language\":\"JAVA\",\"version\":0,\"opaque\":1,\"flag\":0,\"serializeTypeCurrentRPC\":\"JSON\"");
        String separator = ",\"extFields\":{";
        for (Map.Entry<String, String> each : fields.entrySet()) {
            header.append(separator).append(Json.string(each.getKey())).append(':').append(Json.string(each.getValue()));
            separator = ",";
        }
        return exchange(address, header.append("}}").toString().getBytes(StandardCharsets.UTF_8));
    }

    private static Answer exchange(String address, byte[] header) {
        int colon = address.lastIndexOf(':');
        int port = Integer.parseInt(address.substring(colon + 1));
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(address.substring(0, colon), port), WITHIN);
            socket.setSoTimeout(WITHIN);
            // The length of the rest; then that of the header, whose first byte, 0, says that it is JSON.
            ByteBuffer frame = ByteBuffer.allocate(8 + header.length).putInt(4 + header.length).putInt(header.length);
            socket.getOutputStream().write(frame.put(header).array());
            DataInputStream in = new DataInputStream(socket.getInputStream());
            int size = in.readInt();
            if (size < 4 || size > LONGEST_ANSWER) {
                throw new IOException("an answer of " + size + " bytes");
            }
            byte[] answer = new byte[size];
            in.readFully(answer);
            return new Answer(ByteBuffer.wrap(answer));
        } catch (IOException error) {
            throw new RocketwireException(address + " did not answer: " + error, error);
        }
    }

    /** What was answered. */
    static final class Answer {
        final long code;
        final String remark;
        final String body;

        private Answer(ByteBuffer frame) {
            byte[] header = new byte[frame.getInt() & 0xFFFFFF];
            frame.get(header);
            byte[] rest = new byte[frame.remaining()];
            frame.get(rest);
            Map<String, Object> fields = Json.object(new String(header, StandardCharsets.UTF_8));
            code = (Long) fields.get("code");
            remark = (String) fields.get("remark");
            body = new String(rest, StandardCharsets.UTF_8);
        }
    }
}
