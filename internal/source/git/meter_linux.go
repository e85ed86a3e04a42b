package git

import (
	"syscall"
	"unsafe"
)

// limitMemory has the kernel refuse a process, and those that it starts from now on, more memory of its own than a number of bytes. It may have
// ended by now.
func limitMemory(pid int, most int64) {
	limit := syscall.Rlimit{Cur: uint64(most), Max: uint64(most)}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_DATA, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}
