#include "cpu.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "connection.h"

double process_cpu_seconds(int process_id)
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
        fail("process %d is gone", process_id);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double own_cpu_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}
