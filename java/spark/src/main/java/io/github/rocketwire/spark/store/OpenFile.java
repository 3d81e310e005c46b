package io.github.rocketwire.spark.store;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file of a store, open for positioned reads; never mapped, as a broker may cut it meanwhile. Offsets are those of the
 * row that the file belongs to.
 */
public final class OpenFile implements Closeable {
  private final RowFile file;
  private final FileChannel channel;

  public OpenFile(RowFile file) throws IOException {
    this.file = file;
    Path path = Path.of(file.path());
    try {
      // A named pipe would block the open.
      if (Files.exists(path) && !Files.isRegularFile(path)) {
        throw new IOException(file.path() + " cannot be read: it is not a regular file");
      }
      channel = FileChannel.open(path, StandardOpenOption.READ);
    } catch (NoSuchFileException error) {
      throw new FileGone(file.path());
    }
  }

  public RowFile file() {
    return file;
  }

  /** Reads from an offset on into an array; how many bytes came, fewer only where the file ends. */
  public int read(long offset, byte[] into, int at, int length) throws IOException {
    long room = file.end() - offset;
    int wanted = (int) Math.max(0, Math.min(length, room));
    ByteBuffer buffer = ByteBuffer.wrap(into, at, wanted);
    long position = offset - file.start();
    while (buffer.hasRemaining()) {
      int count = channel.read(buffer, position);
      if (count <= 0) {
        break;
      }
      position += count;
    }
    return wanted - buffer.remaining();
  }

  /** Bytes from an offset on; fewer only where the file ends. */
  public byte[] read(long offset, int length) throws IOException {
    byte[] found = new byte[(int) Math.max(0, Math.min(length, file.end() - offset))];
    int count = read(offset, found, 0, found.length);
    return count == found.length ? found : java.util.Arrays.copyOf(found, count);
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
