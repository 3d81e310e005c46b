package io.github.rocketwire.spark.endpoint.read;

import io.github.rocketwire.spark.endpoint.Cluster;
import io.github.rocketwire.spark.endpoint.EndpointErrors;
import io.github.rocketwire.spark.endpoint.EndpointOptions;
import io.github.rocketwire.spark.endpoint.RemotingException;
import io.github.rocketwire.spark.endpoint.RetryPauses;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Sends requests to an endpoint, on connections that are kept; all requests of a query are repeated when one fails. */
final class Session implements Closeable {
  private final EndpointOptions endpoint;
  private Cluster cluster;

  Session(EndpointOptions endpoint) {
    this.endpoint = endpoint;
  }

  /** Some requests to an endpoint. */
  interface Query<T> {
    T run(Cluster cluster) throws IOException;
  }

  /**
   * The result of some requests.
   *
   * @throws io.github.rocketwire.spark.SourceException it does not answer, or refuses
   */
  <T> T run(Query<T> query) {
    RetryPauses pauses = new RetryPauses();
    try {
      while (true) {
        try {
          return runOnce(query);
        } catch (RemotingException error) {
          pauses.waitAfter(error);
        }
      }
    } catch (RemotingException error) {
      throw EndpointErrors.of(error, endpoint);
    } catch (IOException interrupted) {
      throw new UncheckedIOException(interrupted); // which Spark knows for the end of a query
    }
  }

  private <T> T runOnce(Query<T> query) throws IOException {
    boolean done = false;
    try {
      if (cluster == null) {
        cluster = new Cluster(endpoint);
      }
      T found = query.run(cluster);
      done = true;
      return found;
    } finally {
      if (!done) {
        close(); // some answers may still arrive
      }
    }
  }

  /** Closes the connections; the next query opens new ones. */
  @Override
  public void close() {
    if (cluster != null) {
      cluster.close();
      cluster = null;
    }
  }
}
