package worker

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// attributes has the kernel kill the worker when the pool dies, should it not notice the end of its stdin.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// resident is how much memory the process holds, in bytes; 0 if that cannot be known.
func resident(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0 // it has ended
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// processorTime is how long the process has run on a processor so far, as proc_pid_stat(5) says; 0 if that cannot be known.
func processorTime(pid int) time.Duration {
	const utime, stime, tick = 11, 12, time.Second / 100 // the fields after the name; USER_HZ is 100 wherever Go runs
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0 // it has ended
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) <= stime {
		return 0
	}
	var ticks time.Duration
	for _, f := range fields[utime : stime+1] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0
		}
		ticks += time.Duration(n)
	}
	return ticks * tick
}
