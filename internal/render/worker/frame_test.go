package worker

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/testing/given"
)

func TestAFrameIsReadAsItWasWritten(t *testing.T) {
	var buf bytes.Buffer
	want := answerHead{Absent: true, Info: info{N: "a", M: 1, S: 2}}
	if err := writeFrame(&buf, kindAnswer, want, []byte("he"), []byte("llo")); err != nil {
		t.Fatal(err)
	}
	f, err := readFrame(iotest.OneByteReader(&buf), maxFrame)
	if err != nil {
		t.Fatal(err)
	}
	var got answerHead
	if err := f.into(kindAnswer, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || string(f.body) != "hello" {
		t.Error(diff, string(f.body))
	}
	if _, err := readFrame(&buf, maxFrame); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := f.into(kindDone, &got); !errors.Is(err, errFrame) {
		t.Error(err)
	}
}

func TestAFrameOverTheLimitIsNotRead(t *testing.T) {
	_, err := readFrame(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff, 'D', 0, 0, 0, 0}), 1<<20)
	if !errors.Is(err, render.ErrLimit) {
		t.Error(err)
	}
}

// A pool reads what a worker, perhaps broken, writes: it must end, and not take the announced length for granted.
func FuzzFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 5, 'D', 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 7, 'D', 0, 0, 0, 2, '{', '}'})
	f.Add([]byte{0, 0, 0, 7, 'D', 0xff, 0, 0, 2, '{', '}'})
	f.Add([]byte{0x7f, 0, 0, 7, 'A', 0, 0, 0, 2, '{', '}'})
	var ok bytes.Buffer
	if err := writeFrame(&ok, kindDone, doneHead{Places: []place{{File: "a.yaml", Line: 1, Size: 2}}}, []byte("{}")); err != nil {
		f.Fatal(err)
	}
	f.Add(ok.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		fr, err := readFrame(bytes.NewReader(data), 1<<20)
		if err != nil {
			return
		}
		if fr.kind == kindDone {
			if out, err := decodeOutcome(fr, "x"); err == nil && out.err == nil {
				for _, o := range out.result.Objects {
					_ = o.Data.ID()
				}
			}
			return
		}
		var q askHead
		if fr.into(kindAsk, &q) == nil {
			_, body := answerQuestion(given.Files("a", "x"), q, 10)
			if len(body) > 10 {
				t.Error("more than the limit")
			}
		}
	})
}

func TestTheTreeOfAWorkerIsTheTreeOfThePool(t *testing.T) {
	real := given.Files("a.yaml", "x", "dir/b.yaml", "y", "dir/sub/c", "z")
	asked := 0
	remote := newTree(func(q askHead) (answerHead, []byte, error) {
		asked++
		head, body := answerQuestion(real, q, 1<<20)
		head.Info.N = "" // set by the worker
		var buf bytes.Buffer
		if err := writeFrame(&buf, kindAnswer, head, body); err != nil {
			return answerHead{}, nil, err
		}
		f, err := readFrame(&buf, maxFrame)
		if err != nil {
			return answerHead{}, nil, err
		}
		return answered(q, f)
	})
	if err := fstest.TestFS(remote, "a.yaml", "dir/b.yaml", "dir/sub/c"); err != nil {
		t.Error(err)
	}
	if asked > 30 {
		t.Errorf("asked %d times", asked)
	}
}
