package io.github.rocketwire.spark.cache;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;

/** The columns of a segment, whose blocks are checked when they are read. */
public final class Segment implements Closeable {
  /** Rows of a block. */
  private static final int BLOCK = 1 << 16;

  private final Path folder;
  private final Manifest.Part part;
  private final Map<String, FileChannel> files = new HashMap<>();

  public Segment(String folder, Manifest.Part part) {
    this.folder = Path.of(folder, part.name());
    this.part = part;
  }

  /** The number of blocks. */
  public int blocks() {
    return -Math.floorDiv(-part.rows(), BLOCK);
  }

  /** How many rows a block has. */
  public int rowsOf(int number) {
    return Math.min(BLOCK, part.rows() - number * BLOCK);
  }

  /**
   * A block of a column of 32 bits.
   *
   * @throws Unfit it is damaged, or not there
   */
  public int[] ints(String name, int number) throws IOException {
    ByteBuffer data = block(name, number, Integer.BYTES);
    int[] found = new int[data.remaining() / Integer.BYTES];
    data.asIntBuffer().get(found);
    return found;
  }

  /** The same of a column of 64 bits. */
  public long[] longs(String name, int number) throws IOException {
    ByteBuffer data = block(name, number, Long.BYTES);
    long[] found = new long[data.remaining() / Long.BYTES];
    data.asLongBuffer().get(found);
    return found;
  }

  private ByteBuffer block(String name, int number, int width) throws IOException {
    ByteBuffer data = ByteBuffer.allocate(rowsOf(number) * width).order(ByteOrder.LITTLE_ENDIAN);
    int[] checksums = part.checksums().get(name);
    FileChannel file = opened(name);
    for (long at = (long) number * BLOCK * width; data.hasRemaining(); ) {
      int count = file.read(data, at);
      if (count < 0) {
        break;
      }
      at += count;
    }
    boolean whole = !data.hasRemaining() && file.size() == (long) part.rows() * width;
    if (checksums == null || number >= checksums.length || !whole || Manifest.crc(data.array()) != checksums[number]) {
      throw new Unfit("block " + number + " of " + folder.getFileName() + "/" + name + " is damaged");
    }
    return data.flip();
  }

  private FileChannel opened(String name) throws IOException {
    FileChannel found = files.get(name);
    if (found == null) {
      found = FileChannel.open(folder.resolve(name).resolve("data.ninja"), StandardOpenOption.READ);
      files.put(name, found);
    }
    return found;
  }

  @Override
  public void close() throws IOException {
    for (FileChannel file : files.values()) {
      file.close();
    }
    files.clear();
  }
}
