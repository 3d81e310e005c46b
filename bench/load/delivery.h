/* Delayed messages until they are there: sends with delay level 1 for the measured time, then waits until the
 * topic's queues hold exactly as many more, and looks at each how late it came. */
#ifndef BENCH_DELIVERY_H
#define BENCH_DELIVERY_H

#include "options.h"
#include "pipeline.h"

/* The time counted is that from the first send to the last delivery less the delay; the latency that from the due
 * time (born + delay) to the delivered record's store time, in whole milliseconds. */
void run_delivery(const struct options *options, struct result *out);

#endif
