//go:build !race

package git_test

// sshMemory is what git's SSH command may use: little, as an ordinary fetch needs.
const sshMemory = 48 << 20
