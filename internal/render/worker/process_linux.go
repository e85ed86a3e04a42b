package worker

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
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
