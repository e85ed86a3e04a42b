//go:build !cgo

package worker

const withCgo = false
