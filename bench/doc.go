// Package bench answers: how fast is the whole program, and what does it cost?
//
// In: a sandbox for each world, the truce binary, and TRUCE_BENCH_SIZES for other sizes than the short ones.
// Out: Go benchmarks for benchstat. Times are ratios to a bare client on the same server in the same run, since the machine is
// never the same twice.
// Promise: what is timed was seen by an independent watch; nothing is asserted about time.
// Not here: single functions (beside them), correctness (stories).
package bench
