package io.github.rocketwire.spark.columns;

import com.github.luben.zstd.ZstdInputStream;
import io.github.rocketwire.spark.Facts;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;
import net.jpountz.lz4.LZ4FrameInputStream;

/** Inflates compressed bodies, by the libraries that Spark has. */
public final class Inflating {
  /** A body that inflates to more counts as damaged. */
  private static final int MOST = 256 << 20;

  private static final int TYPE_SHIFT = 8;
  private static final int TYPES = 7;

  private Inflating() {}

  public static boolean isCompressed(int sysFlag) {
    return (sysFlag & Facts.SYS_FLAG_COMPRESSED) != 0;
  }

  /** The body as the producer's application had it; null where it cannot be inflated. */
  public static byte[] inflated(byte[] data, int at, int length, int sysFlag) {
    Inflater inflater = new Inflater();
    try (InputStream input = stream(new ByteArrayInputStream(data, at, length), sysFlag, inflater)) {
      if (input == null) {
        return null;
      }
      ByteArrayOutputStream output = new ByteArrayOutputStream(4 * length);
      byte[] part = new byte[16 << 10];
      for (int count = input.read(part); count >= 0; count = input.read(part)) {
        output.write(part, 0, count);
        if (output.size() > MOST) {
          return null;
        }
      }
      return output.toByteArray();
    } catch (IOException | RuntimeException error) {
      return null;
    } finally {
      inflater.end();
    }
  }

  private static InputStream stream(InputStream body, int sysFlag, Inflater inflater) throws IOException {
    switch (sysFlag >> TYPE_SHIFT & TYPES) {
      case 1:
        return new LZ4FrameInputStream(body, true);
      case 2:
        return new ZstdInputStream(body).setContinuous(false);
      case 0:
      case 3:
        return new InflaterInputStream(body, inflater);
      default:
        return null;
    }
  }
}
