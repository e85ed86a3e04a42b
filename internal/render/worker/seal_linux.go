package worker

import (
	"syscall"
	"unsafe"
)

// System calls and flags of Landlock (Linux 5.13; Documentation/userspace-api/landlock.rst). The numbers are the same on all
// architectures that Go builds for.
const (
	landlockCreateRuleset = 444
	landlockRestrictSelf  = 446
	landlockVersion       = 1
	prSetNoNewPrivs       = 38
)

// sealProcess has the kernel refuse this process every file and every TCP connection for good, where the kernel can: Landlock,
// and a program without cgo, since all threads must be sealed together. It reports whether it did.
func sealProcess() bool {
	abi, _, errno := syscall.Syscall(landlockCreateRuleset, 0, 0, landlockVersion)
	if errno != 0 {
		return false
	}
	rules := struct{ files, network uint64 }{files: 1<<13 - 1}
	size := unsafe.Sizeof(rules.files)
	if abi >= 3 { // 2: rename across directories, 3: truncate
		rules.files = 1<<15 - 1
	}
	if abi >= 4 { // bind and connect by TCP
		rules.network, size = 3, unsafe.Sizeof(rules)
	}
	set, _, errno := syscall.Syscall(landlockCreateRuleset, uintptr(unsafe.Pointer(&rules)), size, 0)
	if errno != 0 {
		return false
	}
	defer syscall.Close(int(set))
	if _, _, errno := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0); errno != 0 {
		return false
	}
	_, _, errno = syscall.AllThreadsSyscall(landlockRestrictSelf, set, 0, 0)
	return errno == 0
}
