import io.github.rocketwire.spark.RocketMQProvider;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.Scanner;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The jar's stream of stores, polled as Spark would, without Spark: a step for each line of input, "poll", "plan" or
 * "commit", each answered with the CPU seconds of this thread. bench.spark.polls runs it.
 */
public class Polls {
  public static void main(String[] paths) {
    var options = new CaseInsensitiveStringMap(Map.of("path", paths[0], "columns", "topic,queue_id,queue_offset,body"));
    var provider = new RocketMQProvider();
    var schema = provider.inferSchema(options);
    var table = (SupportsRead) provider.getTable(schema, new Transform[0], options.asCaseSensitiveMap());
    MicroBatchStream stream = table.newScanBuilder(options).build().toMicroBatchStream("");
    Offset from = stream.deserializeOffset(stream.initialOffset().json());
    Offset end = from;
    var threads = ManagementFactory.getThreadMXBean();
    for (var input = new Scanner(System.in); input.hasNextLine(); ) {
      String step = input.nextLine();
      long begun = threads.getCurrentThreadCpuTime();
      switch (step) {
        case "poll" -> end = ((SupportsAdmissionControl) stream).latestOffset(from, ReadLimit.allAvailable());
        case "plan" -> stream.planInputPartitions(from, end);
        default -> from = stream.deserializeOffset(end.json());
      }
      System.out.println((threads.getCurrentThreadCpuTime() - begun) / 1e9);
    }
    stream.stop();
  }
}
