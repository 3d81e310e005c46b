/* CPU time (user and system) in seconds. */
#ifndef BENCH_CPU_H
#define BENCH_CPU_H

/* Of a process so far; fails when it is gone. */
double process_cpu_seconds(int process_id);

/* Of this process so far. */
double own_cpu_seconds(void);

#endif
