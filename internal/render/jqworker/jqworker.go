// Package jqworker answers: how are users' jq expressions kept from harming the controller?
//
// In: an expression and its input, from model/ignore/jq.
// Out: its result, computed in another process with a limit on time and memory.
// Promise: no process starts before the first expression; Close ends all of them.
// Not here: what an expression may do, and what its result means (model/ignore/jq).
package jqworker

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/truce-gitops/truce/internal/model/ignore/jq"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/worker"
)

// workers is how many expressions run at once.
const workers = 2

// Command is the argument by which the program starts itself as such a process.
const Command = "jq-worker"

// WorkerMain runs such a process and returns its exit code.
func WorkerMain() int { return worker.ServeAnswers(jq.AnswerRequest, os.Stdin, os.Stdout) }

// Pool evaluates jq expressions in other processes, which start with the first expression.
type Pool struct {
	*jq.Evaluator
	processes *worker.Pool
}

// NewFilter makes a pool of processes of the program self, which may use memory bytes each. Close ends them.
func NewFilter(self string, memory int64) Pool {
	pool := worker.NewPool(worker.Options{Executable: self, Args: []string{Command}, Size: workers, Memory: memory})
	call := func(ctx context.Context, input []byte, l jq.Limits) ([]byte, error) {
		out, err := pool.Call(ctx, input, render.Limits{Time: l.Time, Memory: l.Memory})
		if errors.Is(err, render.ErrLimit) {
			err = fmt.Errorf("%w: %w", jq.ErrLimit, err)
		}
		return out, err
	}
	return Pool{&jq.Evaluator{Worker: call}, pool}
}

// Close ends the processes.
func (p Pool) Close() { p.processes.Close() }
