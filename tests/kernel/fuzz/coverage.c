/* Which places of the kernel an input reached, for libFuzzer. gcc only calls a function at each place
 * (-fsanitize-coverage=trace-pc), where clang keeps the counters that libFuzzer reads: these are them. Comparisons are
 * passed on to libFuzzer itself, as tail calls: it identifies them by where they return to. coverage.py connects the
 * two. */

#include <stddef.h>
#include <stdint.h>

enum { PLACES = 1 << 16 };

#define SHARED __attribute__((visibility("default")))
#define UNTRACED __attribute__((no_sanitize_coverage, no_sanitize("address", "undefined")))

SHARED uint8_t coverage_counters[PLACES];

UNTRACED void __sanitizer_cov_trace_pc(void)
{
    uintptr_t from = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&__sanitizer_cov_trace_pc;
    coverage_counters[(from >> 2) % PLACES]++;
}

#define COMPARISON(name, type)                                      \
    SHARED void (*coverage_##name)(type, type);                     \
    UNTRACED void __sanitizer_cov_trace_##name(type a, type b)      \
    {                                                               \
        if (coverage_##name != NULL) coverage_##name(a, b);         \
    }

COMPARISON(cmp1, uint8_t)
COMPARISON(cmp2, uint16_t)
COMPARISON(cmp4, uint32_t)
COMPARISON(cmp8, uint64_t)
COMPARISON(const_cmp1, uint8_t)
COMPARISON(const_cmp2, uint16_t)
COMPARISON(const_cmp4, uint32_t)
COMPARISON(const_cmp8, uint64_t)

/* libFuzzer takes none of these. */
UNTRACED void __sanitizer_cov_trace_cmpf(float a, float b) { (void)a, (void)b; }
UNTRACED void __sanitizer_cov_trace_cmpd(double a, double b) { (void)a, (void)b; }

SHARED void (*coverage_switch)(uint64_t, void *);

UNTRACED void __sanitizer_cov_trace_switch(uint64_t value, void *cases)
{
    if (coverage_switch != NULL) coverage_switch(value, cases);
}
