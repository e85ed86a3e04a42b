package memory

import (
	"testing"
	"testing/fstest"
)

func TestTheLimitOnMemoryIsThatOfTheContainer(t *testing.T) {
	files := func(pairs ...string) fstest.MapFS {
		out := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:       16777216 kB\nMemFree: 1 kB\n")}}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
		}
		return out
	}
	for name, c := range map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"no file at all":                      {fstest.MapFS{}, unknownMemory},
		"the machine":                         {files(), 16 << 30},
		"version 2, a container":              {files("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "1073741824\n"), 1 << 30},
		"version 2, no limit":                 {files("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "max\n"), 16 << 30},
		"version 2, the pod's is less":        {files("proc/self/cgroup", "0::/pods/p/c\n", "sys/fs/cgroup/pods/p/c/memory.max", "max\n", "sys/fs/cgroup/pods/p/memory.max", "536870912\n"), 512 << 20},
		"version 2, above the root":           {files("proc/self/cgroup", "0::/../../x\n", "sys/fs/cgroup/memory.max", "1073741824\n"), 1 << 30},
		"version 1, a container":              {files("proc/self/cgroup", "5:cpu,cpuacct:/pods/p\n4:memory:/pods/p\n", "sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"), 1 << 30},
		"version 1, no limit":                 {files("proc/self/cgroup", "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"), 16 << 30},
		"more than the machine has":           {files("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "68719476736\n"), 16 << 30},
		"lines that are none, and no numbers": {files("proc/self/cgroup", "x\n0::/\n", "sys/fs/cgroup/memory.max", "-1\n", "proc/meminfo", "MemTotal:\n"), unknownMemory},
	} {
		if got := memoryLimit(c.root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestWorkersAndGitHaveAPartOfTheMemoryAtMost(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		memory     int64
		processors int
		want       Shares
	}{
		{1024 * mib, 2, Shares{2, 256 * mib, 256 * mib, 96 * mib}},  // as it is installed
		{1024 * mib, 64, Shares{2, 256 * mib, 256 * mib, 96 * mib}}, // on a large node, without a limit on processors
		{256 * mib, 8, Shares{1, 128 * mib, 64 * mib, 96 * mib}},
		{4096 * mib, 8, Shares{4, 512 * mib, 1024 * mib, 256 * mib}},
		{16384 * mib, 2, Shares{2, 1024 * mib, 4096 * mib, 256 * mib}},
		{65536 * mib, 16, Shares{16, 1024 * mib, 16384 * mib, 256 * mib}},
	} {
		got := sharesOf(c.memory, c.processors)
		if got != c.want {
			t.Errorf("%d MiB, %d processors: %+v, want %+v", c.memory/mib, c.processors, got, c.want)
		}
		if sum := int64(got.Workers)*got.Build + got.Git; sum > c.memory*3/4 {
			t.Errorf("%d MiB: %d MiB are given away", c.memory/mib, sum/mib)
		}
		if sum := 2 * got.Query; sum > max(c.memory/8, 192*mib) {
			t.Errorf("%d MiB: both processes of jq have %d MiB", c.memory/mib, sum/mib)
		}
	}
}
