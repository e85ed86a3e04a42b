package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"time"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/absent"
	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/render/unmerged"
	"github.com/truce-gitops/truce/internal/source"
)

// exitOrphaned is the exit code of a worker whose pool is gone.
const exitOrphaned = 3

// worker is one process. One build at a time uses it.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
	// exited is closed when the process has ended and was waited for.
	exited chan struct{}
	err    error
	// service decrypts data keys for builds; nil for none.
	service keys.Service
}

func startWorker(o Options) (*worker, error) {
	cmd := exec.Command(o.Executable, o.Args...)
	// Kustomize must find neither git nor a place to clone to, and no secret of ours in the environment.
	cmd.Env = []string{"PATH=/nonexistent", "HOME=/nonexistent", "TMPDIR=/nonexistent", "GOTRACEBACK=single"}
	if o.Garbage > 0 {
		cmd.Env = append(cmd.Env, "GOGC="+strconv.Itoa(o.Garbage))
	}
	cmd.Dir = "/"
	cmd.SysProcAttr = attributes()
	w := &worker{cmd: cmd, stderr: &tail{}, exited: make(chan struct{}), service: o.KeyService}
	cmd.Stderr = w.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w.in, w.out = in, bufio.NewReaderSize(out, 64<<10)
	go func() {
		// Process.Wait, not Cmd.Wait: what the worker wrote last may still be in the pipe.
		_, w.err = cmd.Process.Wait()
		close(w.exited)
	}()
	return w, nil
}

func (w *worker) alive() bool {
	select {
	case <-w.exited:
		return false
	default:
		return true
	}
}

// kill ends the process and frees what belongs to it.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill() // it may have ended by itself
	<-w.exited
	_ = w.cmd.Wait() // closes the pipes; the process was waited for already
}

// build runs one build. reusable says whether the worker may take another.
func (w *worker) build(ctx context.Context, r render.Request) (res render.Result, reusable bool, err error) {
	limits := r.Limits.OrDefault()
	timed, cancel := context.WithTimeoutCause(ctx, limits.Time, errTime)
	defer cancel()
	watch := w.guard(timed, limits.Memory, nil)
	done, err := w.converse(timed, r, limits)
	stopped := watch()
	if over := timed.Err(); stopped == nil && over != nil && errors.Is(done.err, over) {
		stopped = context.Cause(timed) // a question had no answer within the time, and the worker said so before it was killed
	}
	if stopped != nil {
		return render.Result{}, false, fmt.Errorf("render %s: %w", r.Path, explain(stopped, limits))
	}
	if err != nil {
		return render.Result{}, false, fmt.Errorf("render %s: %w", r.Path, w.crash(err))
	}
	return done.result, !done.spent, done.err
}

var (
	errTime   = fmt.Errorf("time: %w", render.ErrLimit)
	errMemory = fmt.Errorf("memory: %w", render.ErrLimit)
)

// tooLongError is the end of a build that has taken too long, which on a busy machine may be no fault of what it builds.
type tooLongError struct{ error }

// Timeout reports that another try may take less time.
func (tooLongError) Timeout() bool { return true }

// Unwrap gives the limit.
func (t tooLongError) Unwrap() error { return t.error }

func explain(stopped error, l render.Limits) error {
	switch {
	case errors.Is(stopped, errTime):
		return tooLongError{fmt.Errorf("took longer than %s: %w", l.Time, render.ErrLimit)}
	case errors.Is(stopped, errMemory):
		return fmt.Errorf("used more than %d MiB of memory: %w", l.Memory>>20, render.ErrLimit)
	}
	return stopped
}

// processorLimit is until when a worker may go on, by the time that it has run on a processor and by the clock: both must have passed.
// Where it is nil, the clock alone counts.
type processorLimit struct {
	used  time.Duration
	clock time.Time
}

// processor allows the worker d more.
func (w *worker) processor(d time.Duration) *processorLimit {
	return &processorLimit{used: processorTime(w.cmd.Process.Pid) + d, clock: time.Now().Add(d)}
}

func (l *processorLimit) isPassed(pid int) bool {
	return l != nil && time.Now().After(l.clock) && processorTime(pid) > l.used
}

// guard kills the worker when ctx ends or it passes a limit. The returned function ends the watch and reports
// why the worker was killed, if it was.
func (w *worker) guard(ctx context.Context, memory int64, processor *processorLimit) func() error {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	var why error
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for why == nil {
			select {
			case <-quit:
				return
			case <-w.exited:
				return
			case <-ctx.Done():
				why = context.Cause(ctx)
			case <-tick.C:
				why = w.passed(memory, processor)
			}
		}
		_ = w.cmd.Process.Kill() // it may have ended by itself
	})
	return func() error {
		close(quit)
		wg.Wait()
		return why
	}
}

func (w *worker) passed(memory int64, processor *processorLimit) error {
	switch pid := w.cmd.Process.Pid; {
	case resident(pid) > memory:
		return errMemory
	case processor.isPassed(pid):
		return errTime
	}
	return nil
}

// outcome is what a worker said at the end of a build.
type outcome struct {
	result render.Result
	spent  bool
	err    error
}

// converse sends the request and answers the worker's questions until it is done. Its error means a broken worker.
func (w *worker) converse(ctx context.Context, r render.Request, limits render.Limits) (outcome, error) {
	if d := r.Decryption; d != nil {
		with := *d
		with.Service, r.Decryption = w.service != nil, &with
	}
	err := writeFrame(w.in, kindBuild, buildHead{
		Path: r.Path, Namespace: r.Namespace, HomeKind: r.Home.Kind, Overlay: r.Overlay, Directory: r.Directory, Inflate: r.Inflate, Chart: r.Chart, Variables: r.Variables, Lookup: r.Lookup != nil, Decryption: r.Decryption, Limits: limits,
	})
	if err != nil {
		return outcome{}, err
	}
	asked := questions{reader: r.Lookup}
	for {
		f, err := readFrame(w.out, min(maxFrame, limits.Memory))
		if err != nil {
			return outcome{}, unexpected(err)
		}
		if f.kind == kindDone {
			out, err := decodeOutcome(f, r.Path)
			out.err = asked.caused(out.err)
			return out, err
		}
		if err := w.serve(ctx, f, r.Files, &asked, limits.FileBytes); err != nil {
			return outcome{}, err
		}
	}
}

// serve answers one question of the worker.
func (w *worker) serve(ctx context.Context, f frame, files source.Tree, asked *questions, fileBytes int64) error {
	switch f.kind {
	case kindKey:
		return w.openKey(ctx, f)
	case kindLookup:
		return asked.serve(ctx, f, w.in)
	default: // about a file; into refuses all else
	}
	var q askHead
	if err := f.into(kindAsk, &q); err != nil {
		return err
	}
	head, body := answerQuestion(files, q, fileBytes)
	return writeFrame(w.in, kindAnswer, head, body)
}

// openKey has the key service decrypt a data key.
func (w *worker) openKey(ctx context.Context, f frame) error {
	var key keys.Master
	if err := f.into(kindKey, &key); err != nil {
		return err
	}
	if w.service == nil {
		return writeFrame(w.in, kindOpened, openedHead{Error: "no key service"})
	}
	opened, err := w.service.DecryptKey(ctx, key)
	if err != nil {
		return writeFrame(w.in, kindOpened, openedHead{Error: err.Error()})
	}
	return writeFrame(w.in, kindOpened, openedHead{}, opened)
}

func decodeOutcome(f frame, path string) (outcome, error) {
	var head doneHead
	if err := f.into(kindDone, &head); err != nil {
		return outcome{}, err
	}
	if head.Failed != nil {
		return outcome{err: head.Failed, spent: head.Spent}, nil
	}
	res := render.Result{Rendered: true, Objects: make([]render.Object, 0, len(head.Places)), Secrets: head.Secrets, Momentary: head.Momentary, Inflated: head.Inflated}
	rest := f.body
	for _, p := range head.Places {
		if p.Size < 0 || p.Size > len(rest) {
			return outcome{}, errFrame
		}
		var data map[string]any
		if err := kjson.Unmarshal(rest[:p.Size], &data); err != nil {
			return outcome{}, fmt.Errorf("decode object of %s: %w", path, err)
		}
		rest = rest[p.Size:]
		res.Objects = append(res.Objects, render.Object{Data: object.Object(data), File: p.File, Line: p.Line, Sensitive: p.Sensitive, Definition: p.Definition})
	}
	if res.Release = head.Release; res.Release != nil {
		res.Release.Text = rest
	}
	return outcome{result: res, spent: head.Spent}, nil
}

// Error implements error: the text that the builder gave.
func (f *failure) Error() string { return f.Text }

// As gives the place as *render.Error.
func (f *failure) As(target any) bool {
	at, ok := target.(**render.Error)
	if ok && f.File != "" {
		*at = &render.Error{File: f.File, Line: f.Line, Err: errors.New(f.Text)}
		return true
	}
	return false
}

// Is distinguishes limits, sources that have nothing, and values, from other failures.
func (f *failure) Is(target error) bool {
	return f.Limit && target == render.ErrLimit || f.Nothing && target == absent.Err || f.Values && target == unmerged.Err
}

// crash returns how the worker ended: its last words on stderr are the panic or the runtime's complaint.
func (w *worker) crash(err error) error {
	_ = w.cmd.Process.Kill() // it may have ended by itself
	<-w.exited
	_ = w.cmd.Wait() // waits for stderr
	if words := w.stderr.words(); words != "" {
		return fmt.Errorf("worker ended: %s", words)
	}
	return fmt.Errorf("worker ended: %w", err)
}

// tail keeps the beginning of what a worker said on stderr: a panic's message comes first.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p[:min(len(p), 4096-min(t.buf.Len(), 4096))])
	return len(p), nil
}

// words is the first line, quoted if it is not plain text.
func (t *tail) words() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := bytes.Cut(bytes.TrimSpace(t.buf.Bytes()), []byte("\n"))
	q := strconv.Quote(string(line))
	return q[1 : len(q)-1]
}
