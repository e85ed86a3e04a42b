//go:build !linux

package git

func limitMemory(int, int64) {}
