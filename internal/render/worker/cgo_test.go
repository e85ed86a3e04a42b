//go:build cgo

package worker

// withCgo says that the threads of this program cannot be sealed together.
const withCgo = true
