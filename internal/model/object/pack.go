package object

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Packer makes texts of objects small enough to keep all of them. Objects of one kind resemble each other: the text of one serves
// as the dictionary for the others (RFC 1951 §2: a block may refer to what came before it), so that a text that
// differs from it in a name takes some tens of bytes. The zero Packer works, and may be used concurrently.
type Packer struct {
	mu      sync.Mutex
	samples map[GVK]*[]byte
}

// Writers and readers are shared by all Packers. A writer takes a large part of a megabyte: no more of them are in use than there are processors, and
// they go when nothing is packed.
var (
	writers sync.Pool // of *writer
	readers sync.Pool // of flate's
	packing = make(chan struct{}, runtime.GOMAXPROCS(0))
)

// writer is a compressor and what comes out of it.
type writer struct {
	out     bytes.Buffer
	deflate *flate.Writer
}

// Packed is a text that a Packer has made small. The zero Packed is no text at all.
type Packed struct {
	data   string  // the length of the text, then what deflate makes of it
	sample *[]byte // what data refers to; shared with others of the kind
}

const (
	largestSample = 16 << 10 // within deflate's window of 32 KiB
	level         = 1        // level 3 takes as long and makes a tenth less of it, with tables four times as large
)

// Pack makes a text small. The text is not kept.
func (p *Packer) Pack(kind GVK, text []byte) Packed {
	packing <- struct{}{}
	defer func() { <-packing }()
	w, ok := writers.Get().(*writer)
	if !ok {
		w = &writer{}
		w.deflate, _ = flate.NewWriter(nil, level) // the level is a good one
	}
	sample := p.sample(kind, text, 0)
	packed := w.press(sample, text)
	if len(packed.data) > len(text)/4 && len(text) >= 2*len(*sample) && len(*sample) < largestSample {
		packed = w.press(p.sample(kind, text, len(*sample)), text) // the first of its kind was a poor example
	}
	if w.out.Cap() <= largestBuffer {
		writers.Put(w)
	}
	return packed
}

// sample returns the example of a kind: the text, if there is none that is longer than so much.
func (p *Packer) sample(kind GVK, text []byte, than int) *[]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.samples[kind]; s != nil && len(*s) > than {
		return s
	}
	if p.samples == nil {
		p.samples = map[GVK]*[]byte{}
	}
	s := bytes.Clone(text[:min(len(text), largestSample)])
	p.samples[kind] = &s
	return &s
}

// press makes a text small. The sample goes through the compressor first, and nothing comes out of it: one compressor serves all samples.
func (w *writer) press(sample *[]byte, text []byte) Packed {
	w.out.Reset()
	w.deflate.ResetDict(&w.out, *sample)
	_, _ = w.deflate.Write(text) // a buffer takes all
	_ = w.deflate.Close()
	var data strings.Builder
	length := binary.AppendUvarint(nil, uint64(len(text)))
	data.Grow(len(length) + w.out.Len())
	data.Write(length)
	data.Write(w.out.Bytes())
	return Packed{data: data.String(), sample: sample}
}

// largestBuffer is what a writer may keep for the next text.
const largestBuffer = 64 << 10

// Text returns the text of what any Packer has packed; nil of the zero Packed. It is the caller's.
func (p *Packer) Text(t Packed) ([]byte, error) {
	if !t.Known() {
		return nil, nil
	}
	r, ok := readers.Get().(io.Reader)
	if !ok {
		r = flate.NewReader(nil)
	}
	data := strings.NewReader(t.data)
	size, err := binary.ReadUvarint(data)
	if err == nil {
		err = r.(flate.Resetter).Reset(data, *t.sample)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack an object: %w", err)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("unpack an object: %w", err)
	}
	readers.Put(r)
	return text, nil
}

// Known reports whether there is a text.
func (t Packed) Known() bool { return t.data != "" }

// Size returns about how many bytes the text takes as it is.
func (t Packed) Size() int64 { return int64(len(t.data)) + packedOverhead }

const packedOverhead = 32
