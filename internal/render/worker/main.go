package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/absent"
	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/render/lookup"
	"github.com/truce-gitops/truce/internal/render/unmerged"
)

// Builder is what a worker runs.
type Builder interface {
	render.Renderer
	// Spent reports whether a build has left something behind in the process, so that it must not build again.
	Spent() bool
}

// RunWorker is the worker process: it builds what stdin requests, one build after the other, and answers on stdout, until
// stdin ends. It returns the exit code. The process reads no file and opens no connection: all that it knows of the tree
// it asks for over the pipe.
func RunWorker(b Builder, stdin io.Reader, stdout io.Writer) int {
	confine()
	w := &process{builder: b, out: stdout, frames: make(chan frame)}
	go w.receive(bufio.NewReaderSize(stdin, 64<<10))
	for f := range w.frames {
		if err := w.build(f); err != nil {
			fmt.Fprintln(os.Stderr, "render worker:", err)
			return 1
		}
	}
	return 0
}

type process struct {
	builder Builder
	out     io.Writer
	frames  chan frame
}

// receive reads frames all the time, so that the end of stdin ends the process also in the middle of a build.
func (w *process) receive(in io.Reader) {
	for {
		f, err := readFrame(in, maxFrame)
		if err != nil {
			os.Exit(exitOrphaned)
		}
		w.frames <- f
	}
}

func (w *process) build(f frame) error {
	var head buildHead
	if err := f.into(kindBuild, &head); err != nil {
		return err
	}
	// Leave room for what the runtime does not count, so that garbage is collected before the pool loses patience.
	debug.SetMemoryLimit(head.Limits.OrDefault().Memory * 8 / 10)
	request := render.Request{
		Files: newTree(w.ask), Path: head.Path, Namespace: head.Namespace, Home: object.ID{Kind: head.HomeKind},
		Overlay: head.Overlay, Directory: head.Directory, Inflate: head.Inflate, Chart: head.Chart, Variables: head.Variables, Decryption: head.Decryption, KeyService: w, Limits: head.Limits,
	}
	if head.Lookup {
		request.Lookup = w
	}
	res, err := w.builder.Render(context.Background(), request)
	done := doneHead{Spent: w.builder.Spent(), Secrets: res.Secrets, Momentary: res.Momentary, Inflated: res.Inflated}
	if err != nil {
		done.Failed = newFailure(err)
		return writeFrame(w.out, kindDone, done)
	}
	bodies := make([][]byte, 0, len(res.Objects))
	for _, o := range res.Objects {
		b, err := o.Data.JSON()
		if err != nil {
			return fmt.Errorf("encode %s: %w", o.Data.ID(), err)
		}
		bodies = append(bodies, b)
		done.Places = append(done.Places, place{File: o.File, Line: o.Line, Size: len(b), Sensitive: o.Sensitive, Definition: o.Definition})
	}
	if done.Release = res.Release; done.Release != nil {
		bodies = append(bodies, done.Release.Text)
	}
	return writeFrame(w.out, kindDone, done, bodies...)
}

func (w *process) ask(q askHead) (answerHead, []byte, error) {
	if err := writeFrame(w.out, kindAsk, q); err != nil {
		return answerHead{}, nil, err
	}
	return answered(q, <-w.frames)
}

// DecryptKey implements keys.Service: it asks the pool, since a build has no network.
func (w *process) DecryptKey(_ context.Context, key keys.Master) ([]byte, error) {
	if err := writeFrame(w.out, kindKey, key); err != nil {
		return nil, err
	}
	f := <-w.frames
	var head openedHead
	if err := f.into(kindOpened, &head); err != nil {
		return nil, err
	}
	if head.Error != "" {
		return nil, errors.New(head.Error)
	}
	return f.body, nil
}

// Lookup implements lookup.Reader: it asks the pool.
func (w *process) Lookup(_ context.Context, q lookup.Question) (map[string]any, error) {
	if err := writeFrame(w.out, kindLookup, q); err != nil {
		return nil, err
	}
	f := <-w.frames
	var head openedHead
	if err := f.into(kindFound, &head); err != nil {
		return nil, err
	}
	if head.Error != "" {
		return nil, errors.New(head.Error)
	}
	var found map[string]any
	return found, kjson.Unmarshal(f.body, &found)
}

func answered(q askHead, f frame) (answerHead, []byte, error) {
	var head answerHead
	err := f.into(kindAnswer, &head)
	head.Info.N = path.Base(q.Path)
	return head, f.body, err
}

func newFailure(err error) *failure {
	f := &failure{Text: err.Error(), Limit: errors.Is(err, render.ErrLimit), Nothing: errors.Is(err, absent.Err), Values: errors.Is(err, unmerged.Err)}
	var at *render.Error
	if errors.As(err, &at) {
		f.File, f.Line = at.File, at.Line
	}
	return f
}
