#include "histogram.h"

#include <string.h>

void histogram_clear(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
}

static unsigned bucket_of(uint64_t value)
{
    const unsigned sub = 1u << HISTOGRAM_SUB_BITS;
    if (value < sub)
        return (unsigned)value;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
    unsigned shift = exponent - HISTOGRAM_SUB_BITS;
    return ((shift + 1) << HISTOGRAM_SUB_BITS) + (unsigned)((value >> shift) & (sub - 1));
}

/* Middle of a bucket: the inverse of bucket_of. */
static double value_of(unsigned bucket)
{
    const unsigned sub = 1u << HISTOGRAM_SUB_BITS;
    if (bucket < sub)
        return bucket;
    unsigned shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
    double low = (double)((uint64_t)(sub + (bucket & (sub - 1))) << shift);
    return low + (double)((uint64_t)1 << shift) / 2.0;
}

void histogram_add(struct histogram *histogram, int64_t nanoseconds)
{
    uint64_t value = nanoseconds < 0 ? 0 : (uint64_t)nanoseconds;
    histogram->counts[bucket_of(value)]++;
    histogram->total++;
    if (nanoseconds > histogram->max)
        histogram->max = nanoseconds;
}

double histogram_percentile_us(const struct histogram *histogram, double part)
{
    uint64_t wanted = (uint64_t)(part * (double)histogram->total), seen = 0;
    if (histogram->total == 0)
        return 0;
    if (wanted >= histogram->total)
        wanted = histogram->total - 1;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->counts[bucket];
        if (seen > wanted)
            return value_of(bucket) / 1000.0;
    }
    return (double)histogram->max / 1000.0;
}
