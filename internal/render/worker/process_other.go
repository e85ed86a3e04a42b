//go:build !linux

package worker

import (
	"syscall"
	"time"
)

// attributes needs nothing: the worker notices the end of its stdin.
func attributes() *syscall.SysProcAttr { return nil }

// resident is not known here; the limit on time still holds.
func resident(int) int64 { return 0 }

// processorTime is not known here; the clock is in its place.
func processorTime(int) time.Duration { return time.Duration(time.Now().UnixNano()) }
