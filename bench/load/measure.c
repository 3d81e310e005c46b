#include "measure.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "connection.h"

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

static double process_cpu_seconds(int process_id)
{
    char path[64], text[1024];
    unsigned long user, system;
    snprintf(path, sizeof path, "/proc/%d/stat", process_id);
    FILE *file = fopen(path, "r");
    size_t length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    if (file != NULL)
        fclose(file);
    text[length] = 0;
    /* Fields are counted after the name in brackets, which may hold anything. */
    const char *after_name = strrchr(text, ')');
    if (after_name == NULL ||
        sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        fail("process %d has ended", process_id);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double own_cpu_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

struct stopwatch stopwatch_start(int server_pid)
{
    struct stopwatch watch = {.server_pid = server_pid};
    if (server_pid > 0)
        watch.server_cpu = process_cpu_seconds(server_pid);
    watch.own_cpu = own_cpu_seconds();
    watch.started_at = now_ns();
    return watch;
}

void stopwatch_stop(const struct stopwatch *watch, struct result *out)
{
    out->seconds = (double)(now_ns() - watch->started_at) / 1e9;
    out->server_cpu_seconds = watch->server_pid > 0 ? process_cpu_seconds(watch->server_pid) - watch->server_cpu : -1;
    out->client_cpu_seconds = own_cpu_seconds() - watch->own_cpu;
}

void print_result(const char *mode, const struct result *result)
{
    printf("{\"mode\": \"%s\", \"messages\": %lld, \"requests\": %lld, \"seconds\": %.6f, \"rate\": %.1f, "
           "\"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f, \"server_cpu_seconds\": %.3f, "
           "\"client_cpu_seconds\": %.3f, \"errors\": 0}\n",
           mode, (long long)result->messages, (long long)result->requests, result->seconds,
           result->seconds > 0 ? (double)result->messages / result->seconds : 0,
           histogram_percentile_us(&result->latency, 0.50), histogram_percentile_us(&result->latency, 0.99),
           (double)result->latency.max / 1000.0, result->server_cpu_seconds, result->client_cpu_seconds);
}
