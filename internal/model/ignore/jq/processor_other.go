//go:build !unix

package jq

import "time"

// processorTime is not known here; the clock is in its place.
func processorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
