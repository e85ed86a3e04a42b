package git

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/truce-gitops/truce/internal/source"
)

// A pack is compressed, so one commit's cannot well be larger than its files; with ignored files and history it may.
const packFactor = 4

// guard ends a fetch whose pack grows over the limit: a server can send without end, and git has no limit of its own.
func (t *fetchAttempt) guard(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if most := packFactor * t.limits.Bytes; t.incoming() > most {
				cancel(tooMuchSent(most))
			}
		}
	}
}

// incoming is the size of the packs that are being received.
func (t *fetchAttempt) incoming() int64 {
	files, err := filepath.Glob(filepath.Join(t.dir, "objects/pack/tmp_pack_*"))
	if err != nil {
		return 0 // the pattern is constant and legal
	}
	var sum int64
	for _, file := range files {
		if info, err := os.Stat(file); err == nil { // it may be complete and renamed by now
			sum += info.Size()
		}
	}
	return sum
}

func tooMuchSent(most int64) error {
	return sourceError(source.LimitExceeded, "the server sent more than %d bytes", most)
}
