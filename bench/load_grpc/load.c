/* Raw load generator for the 5.x protocol: hand-made HTTP/2 against any gRPC front, one JSON line of results.
 *
 *   options.c    the command line          http2.c      frames and header fields
 *   messages.c   protobuf, by hand         lane.c       a connection's calls and their answers
 *   pipeline.c   sends, receives           wake.c       a waiting receiver
 *
 * Sockets, histogram and CPU time are those of ../load. Every answer is checked; the first wrong one ends the run with exit
 * code 1 and {"errors": 1, "error": ...}. */
#include <stdio.h>

#include "run.h"

int main(int argc, char **argv)
{
    struct options options = read_options(argc, argv);
    static struct result result;
    (options.mode == MODE_WAKE ? run_wake : run_pipeline)(&options, &result);
    printf("{\"mode\": \"%s\", \"messages\": %lld, \"requests\": %lld, \"seconds\": %.6f, \"rate\": %.1f, "
           "\"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f, \"server_cpu_seconds\": %.3f, "
           "\"client_cpu_seconds\": %.3f, \"errors\": 0}\n",
           options.mode_name, (long long)result.messages, (long long)result.requests, result.seconds,
           result.seconds > 0 ? (double)result.messages / result.seconds : 0,
           histogram_percentile_us(&result.latency, 0.50), histogram_percentile_us(&result.latency, 0.99),
           (double)result.latency.max / 1000.0, result.server_cpu_seconds, result.client_cpu_seconds);
    return 0;
}
