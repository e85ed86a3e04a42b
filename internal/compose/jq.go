package compose

import (
	"context"
	"errors"
	"os"

	"github.com/truce-gitops/truce/internal/model/ignore/jq"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/worker"
)

// jqWorkers is how many expressions run at once.
const jqWorkers = 2

// jqMain is the process in which users' jq expressions run.
func jqMain() int { return worker.Serve(jq.AnswerRequest, os.Stdin, os.Stdout) }

// jqPool answers users' jq expressions in processes of their own, which start when the first one is asked.
type jqPool struct {
	*jq.Evaluator
	close func()
}

func newQueries(self string) jqPool {
	pool := worker.NewPool(worker.Options{Executable: self, Args: []string{jqWorker}, Size: jqWorkers, Memory: machineShares().query})
	call := func(ctx context.Context, input []byte, l jq.Limits) ([]byte, error) {
		return pool.Call(ctx, input, render.Limits{Time: l.Time, Memory: l.Memory})
	}
	limited := func(err error) bool { return errors.Is(err, render.ErrLimit) }
	return jqPool{&jq.Evaluator{Worker: call, IsLimit: limited}, pool.Close}
}
