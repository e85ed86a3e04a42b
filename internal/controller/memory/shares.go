// Package memory answers: how much memory may each part of this process use, and when is unused memory given back?
//
// In: the limits of the process's control groups, and the times at which it works.
// Out: the share of each worker process and of git; memory given back to the machine after a burst of work.
// Promise: the shares of builds and git are three quarters of the memory at most; the processes that run jq expressions have an eighth together, or 192 MiB
// where that is more; an idle process runs no timer.
// Not here: how a worker is kept within its share (render/worker), or git (source/git).
package memory

import (
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// Shares says how much memory the child processes may use.
type Shares struct {
	Workers int   // how many builds run at once
	Build   int64 // bytes for one of them
	Git     int64 // bytes for all git processes
	Query   int64 // bytes for each process that runs jq expressions
}

const (
	// leastBuild is what a worker needs, in bytes, for the builds of people: some 60 MiB, and what it builds.
	leastBuild = 256 << 20
	// queries is how many processes run jq expressions (render/jqworker).
	queries = 2
	// leastQuery is what such a process itself needs, and some objects; mostQuery is the limit of an expression (model/ignore/jq).
	leastQuery, mostQuery = 96 << 20, 256 << 20
	// mostBuild is the default limit of a build (render.Limits).
	mostBuild = 1 << 30
	// fewWorkers are enough before each has all that a build may use.
	fewWorkers = 4
)

// sharesOf divides memory, in bytes: half for the workers together, a quarter for git, an eighth for jq expressions, and the rest for this process. With less
// than 1.5 GiB the processes of jq, which start with the first expression, need more than an eighth, at the cost of this process. No more workers run than there are processors.
func sharesOf(memory int64, processors int) Shares {
	half := memory / 2
	workers := max(1, min(int64(processors), max(half/mostBuild, min(fewWorkers, half/leastBuild))))
	return Shares{Workers: int(workers), Build: min(half/workers, mostBuild), Git: memory / 4, Query: min(max(memory/8/queries, leastQuery), mostQuery)}
}

// OfMachine returns the shares of the container, or of the machine where nothing limits the process.
func OfMachine() Shares {
	return sharesOf(memoryLimit(os.DirFS("/")), runtime.GOMAXPROCS(0))
}

// unknownMemory is taken where the system does not say how much there is.
const unknownMemory = 4 << 30

// memoryLimit is how much memory this process may use, in bytes: the least limit of its control groups (cgroups(7)) of either version, or what
// the machine has.
func memoryLimit(root fs.FS) int64 {
	least := int64(unknownMemory)
	if text, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		if kib := numberAfter(string(text), "MemTotal:"); kib > 0 {
			least = kib << 10
		}
	}
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy, controllers, path
		switch {
		case len(parts) < 3:
		case parts[0] == "0":
			least = min(least, lowestLimit(root, "sys/fs/cgroup", parts[2], "memory.max"))
		case strings.Contains(","+parts[1]+",", ",memory,"):
			least = min(least, lowestLimit(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	return least
}

// lowestLimit is the least number in a file of a control group and of those above it. A container may see its own group at the top.
func lowestLimit(root fs.FS, mount, group, file string) int64 {
	least := int64(1 << 62)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		text, err := fs.ReadFile(root, path.Join(mount, at, file))
		if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 { // "max" is no number
			least = min(least, n)
		}
		if at == "/" {
			return least
		}
	}
}

// numberAfter is the number behind a key of a file such as /proc/meminfo; 0 for none.
func numberAfter(text, key string) int64 {
	_, rest, _ := strings.Cut(text, key)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
