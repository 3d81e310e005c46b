/* Raw load generator for the 5.x protocol: hand-made HTTP/2 against any gRPC front, one JSON line of results.
 *
 *   options.c    the command line          http2.c      frames and header fields
 *   messages.c   protobuf, by hand         lane.c       a connection's calls and their answers
 *   pipeline.c   sends, receives           wake.c       a waiting receiver
 *
 * Sockets, the command line's options and what is measured are those of ../load. Every answer is checked; the first wrong one ends the run with exit
 * code 1 and {"errors": 1, "error": ...}. */
#include "run.h"

int main(int argc, char **argv)
{
    struct options options = read_options(argc, argv);
    static struct result result;
    (options.mode == MODE_WAKE ? run_wake : run_pipeline)(&options, &result);
    print_result(options.mode_name, &result);
    return 0;
}
