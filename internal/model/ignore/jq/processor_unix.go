//go:build unix

package jq

import (
	"syscall"
	"time"
)

// processorTime is how long this process has run on a processor; the clock where that is not known.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
