package worker

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/keys"
)

// kind is what a frame says. The zero value is unknown.
type kind byte

const (
	kindBuild  kind = 'B' // pool to worker: build this (buildHead)
	kindAsk    kind = 'A' // worker to pool: what is at this path? (askHead)
	kindAnswer kind = 'R' // pool to worker: this (answerHead, a file's bytes)
	kindDone   kind = 'D' // worker to pool: the objects, or why not (doneHead, the objects' JSON one after the other)
	kindCall   kind = 'C' // pool to worker: answer this (callHead, the input)
	kindReply  kind = 'Y' // worker to pool: the answer (replyHead, the output)
	kindKey    kind = 'K' // worker to pool: decrypt this data key (keys.Master)
	kindOpened kind = 'O' // pool to worker: the data key (openedHead, the key)
	kindLookup kind = 'L' // worker to pool: what does the cluster have of this? (lookup.Question)
	kindFound  kind = 'F' // pool to worker: this (openedHead, its JSON)
)

// maxHead bounds the JSON part of a frame: names of a directory's entries, places of objects, custom resources' patches.
const maxHead = 64 << 20

// frame is one message: 4 bytes length of all that follows, 1 byte kind, 4 bytes length of the head, then head and body.
// Lengths are big-endian.
type frame struct {
	kind kind
	head []byte
	body []byte
}

var errFrame = errors.New("malformed frame")

func writeFrame(w io.Writer, k kind, head any, body ...[]byte) error {
	h, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	size := 5 + len(h)
	for _, b := range body {
		size += len(b)
	}
	if size > 1<<31-1 {
		return fmt.Errorf("frame of %d bytes: %w", size, render.ErrLimit)
	}
	var buf bytes.Buffer
	buf.Grow(4 + size)
	buf.Write(binary.BigEndian.AppendUint32(nil, uint32(size)))
	buf.WriteByte(byte(k))
	buf.Write(binary.BigEndian.AppendUint32(nil, uint32(len(h))))
	buf.Write(h)
	for _, b := range body {
		buf.Write(b)
	}
	_, err = w.Write(buf.Bytes())
	return err
}

// readFrame reads one frame of at most limit bytes. io.EOF means that the other side closed between frames.
func readFrame(r io.Reader, limit int64) (frame, error) {
	var prefix [9]byte
	if _, err := io.ReadFull(r, prefix[:4]); err != nil {
		return frame{}, err
	}
	size := int64(binary.BigEndian.Uint32(prefix[:4]))
	if size < 5 {
		return frame{}, errFrame
	}
	if size > limit {
		return frame{}, fmt.Errorf("frame of %d bytes: %w", size, render.ErrLimit)
	}
	if _, err := io.ReadFull(r, prefix[4:]); err != nil {
		return frame{}, unexpected(err)
	}
	head := int64(binary.BigEndian.Uint32(prefix[5:]))
	if head > size-5 || head > maxHead {
		return frame{}, errFrame
	}
	// Memory grows with what arrives, not with what was announced.
	var buf bytes.Buffer
	if _, err := io.CopyN(&buf, r, size-5); err != nil {
		return frame{}, unexpected(err)
	}
	return frame{kind: kind(prefix[4]), head: buf.Bytes()[:head:head], body: buf.Bytes()[head:]}, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// into decodes the head of a frame that must be of kind k.
func (f frame) into(k kind, head any) error {
	if f.kind != k {
		return fmt.Errorf("frame %q, want %q: %w", f.kind, k, errFrame)
	}
	if err := json.Unmarshal(f.head, head); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

type buildHead struct {
	Path, Namespace string
	// HomeKind is that of render.Request.Home.
	HomeKind  string
	Overlay   overlay.Overlay
	Directory *render.Directory
	Inflate   *release.Request `json:",omitempty"`
	Chart     *release.Request `json:",omitempty"`
	Variables *variables.Set
	// Lookup says that templates may ask the cluster.
	Lookup     bool
	Decryption *keys.Set
	Limits     render.Limits
}

// openedHead says why there is no data key, or no answer of the cluster.
type openedHead struct {
	Error string `json:",omitempty"`
}

// op is what the worker wants to know of a path. The zero value is unknown.
type op string

const (
	opStat op = "stat"
	opRead op = "read"
	opList op = "list"
)

type askHead struct {
	Op   op
	Path string
}

type answerHead struct {
	// Error is why there is no answer; Absent that there is nothing at the path.
	Error  string `json:",omitempty"`
	Absent bool   `json:",omitempty"`
	Info   info
	List   []info `json:",omitempty"`
}

type doneHead struct {
	Failed *failure `json:",omitempty"`
	Places []place  `json:",omitempty"`
	// Release is that of a chart. Its text follows the objects in the body.
	Release *release.Release `json:",omitempty"`
	// Secrets are those of render.Result.
	Secrets []string `json:",omitempty"`
	// Momentary is that of render.Result.
	Momentary bool `json:",omitempty"`
	// Inflated is that of render.Result.
	Inflated bool `json:",omitempty"`
	// Spent says that the worker must not build again.
	Spent bool `json:",omitempty"`
}

// place is where an object comes from, and how many bytes of the body it takes.
type place struct {
	File      string
	Line      int
	Size      int
	Sensitive [][]string `json:",omitempty"`

	Definition bool `json:",omitempty"`
}

// failure is an error on its way through the pipe.
type failure struct {
	Text    string
	Limit   bool
	Nothing bool
	Values  bool
	File    string
	Line    int
}
