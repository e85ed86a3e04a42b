package git

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/source"
)

// mostMemory is how much memory one command of git may use, in bytes, however much there is.
const mostMemory = 1 << 30

// meter bounds the memory of git's processes: what a server sends, or what was made of it, may need any amount. One command may
// use each, all that run at a time may use all; the kernel's limit stands behind it, for memory that grows between two looks.
type meter struct {
	each, all int64

	mu   sync.Mutex
	used map[*exec.Cmd]int64
}

func newMeter(all int64) *meter {
	if all <= 0 {
		all = mostMemory
	}
	return &meter{each: min(all, mostMemory), all: all, used: map[*exec.Cmd]int64{}}
}

// look is the time between two measurements.
const look = 20 * time.Millisecond

// watch measures a command until ctx ends, and cancels it when it uses too much.
func (m *meter) watch(ctx context.Context, cmd *exec.Cmd, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	defer m.forget(cmd)
	limited := map[int]bool{}
	for {
		var used int64
		for _, pid := range processTree(cmd.Process.Pid) {
			if !limited[pid] {
				limited[pid] = true
				limitMemory(pid, m.each+headroom)
			}
			used += anonymous(pid)
		}
		if why := m.judge(cmd, used); why != nil {
			cancel(why)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// headroom is what the kernel counts and a process does not use, such as the heap that a Go program reserves.
const headroom = 192 << 20

// judge returns why a command must end: it uses too much, or it is the one that uses most when all together do.
func (m *meter) judge(cmd *exec.Cmd, used int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used[cmd] = used
	if used > m.each {
		return sourceError(source.LimitExceeded, "git needs more than %d MiB of memory for what the server sends: give truce more if the repository is that large", m.each>>20)
	}
	var sum, largest int64
	for _, u := range m.used {
		sum += u
		largest = max(largest, u)
	}
	if sum > m.all && used == largest {
		return sourceError(source.LimitExceeded, "all git processes together need more than %d MiB of memory, and this one needs most", m.all>>20)
	}
	return nil
}

func (m *meter) forget(cmd *exec.Cmd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.used, cmd)
}

// processTree is a process with those that it has started, as far as the kernel shows.
func processTree(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all) && len(all) < 64; i++ {
		all = append(all, children(all[i])...)
	}
	return all
}

// children are the processes that the threads of a process have started (proc(5), /proc/pid/task/tid/children); none where it has ended, or the
// system has no such files.
func children(pid int) []int {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return nil
	}
	var all []int
	for _, t := range threads {
		text, err := os.ReadFile(tasks + "/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// anonymous is the resident memory of a process that is no file's, in bytes; 0 if that cannot be known.
func anonymous(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	var pages [3]int64 // size, resident, shared
	fields := strings.Fields(string(text))
	for i := range pages {
		if i >= len(fields) {
			return 0
		}
		if pages[i], err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return 0
		}
	}
	return (pages[1] - pages[2]) * int64(os.Getpagesize())
}
