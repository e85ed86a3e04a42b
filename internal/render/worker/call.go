package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/truce-gitops/truce/internal/render"
)

// Answerer computes one output of one input. It runs in a worker process, and may run away with it.
type Answerer func(ctx context.Context, input []byte) ([]byte, error)

type callHead struct {
	Memory int64
}

type replyHead struct {
	Err string `json:",omitempty"`
}

// ServeAnswers is the worker process of a pool that is asked by Call: it answers what comes on stdin, one input after the other, on stdout,
// until stdin ends. It returns the exit code. Like a build, an answer has no file, no connection and no environment.
func ServeAnswers(answer Answerer, stdin io.Reader, stdout io.Writer) int {
	confine()
	w := &process{out: stdout, frames: make(chan frame)}
	go w.receive(bufio.NewReaderSize(stdin, 64<<10))
	for f := range w.frames {
		if err := w.reply(answer, f); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			return 1
		}
	}
	return 0
}

func (w *process) reply(answer Answerer, f frame) error {
	var head callHead
	if err := f.into(kindCall, &head); err != nil {
		return err
	}
	debug.SetMemoryLimit(head.Memory * 8 / 10)
	output, err := answer(context.Background(), f.body)
	if err != nil {
		return writeFrame(w.out, kindReply, replyHead{Err: err.Error()})
	}
	return writeFrame(w.out, kindReply, replyHead{}, output)
}

// mostOfCall is how long an answer may take on the clock, however little of it the process had a processor.
const mostOfCall = time.Minute

// Call has a worker answer the input. Time and Memory of the limits hold; to exceed one is an error that wraps render.ErrLimit. Time is what
// the process has run on a processor: an answer only computes, and is not refused because the machine is busy. The end of ctx ends the worker.
func (p *Pool) Call(ctx context.Context, input []byte, limits render.Limits) ([]byte, error) {
	w, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	output, reusable, err := w.call(ctx, input, p.within(limits))
	if !reusable || p.isFat(w) {
		w.kill()
		w = nil
	}
	p.give(w)
	return output, err
}

func (w *worker) call(ctx context.Context, input []byte, limits render.Limits) (output []byte, reusable bool, err error) {
	timed, cancel := context.WithTimeoutCause(ctx, mostOfCall, errTime)
	defer cancel()
	watch := w.guard(timed, limits.Memory, w.processor(limits.Time))
	var head replyHead
	output, err = w.exchange(input, limits, &head)
	if stopped := watch(); stopped != nil {
		return nil, false, explain(stopped, limits)
	}
	switch {
	case err != nil:
		return nil, false, w.crash(err)
	case head.Err != "":
		return nil, true, errors.New(head.Err)
	}
	return output, true, nil
}

func (w *worker) exchange(input []byte, limits render.Limits, head *replyHead) ([]byte, error) {
	if err := writeFrame(w.in, kindCall, callHead{Memory: limits.Memory}, input); err != nil {
		return nil, err
	}
	f, err := readFrame(w.out, min(maxFrame, limits.Memory))
	if err != nil {
		return nil, unexpected(err)
	}
	return f.body, f.into(kindReply, head)
}
