//go:build race

package git_test

// sshMemory is what git's SSH command may use here: it is this test binary, which the race detector makes large.
const sshMemory = 1 << 30
