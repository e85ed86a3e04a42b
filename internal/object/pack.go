package object

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Packer makes texts of objects small enough to keep all of them. Objects of one kind resemble each other: the text of one serves
// as the dictionary for the others (RFC 1951 §2: a block may refer to what came before it), so that a text that
// differs from it in a name takes some tens of bytes. The zero Packer works, and may be used concurrently.
type Packer struct {
	mu      sync.Mutex
	samples map[GVK]string
	out     bytes.Buffer
	deflate *flate.Writer
	readers sync.Pool // of flate's
}

// Packed is a text that a Packer has made small. The zero Packed is no text at all.
type Packed struct {
	data   string
	sample string // what data refers to; shared with others of the kind
	size   int
}

const (
	largestSample = 16 << 10 // within deflate's window of 32 KiB
	level         = 2        // 20 to 60 µs for a text of 1.4 kB; higher levels gain a twentieth
)

// Pack makes a text small. The text is not kept.
func (p *Packer) Pack(kind GVK, text []byte) Packed {
	p.mu.Lock()
	defer p.mu.Unlock()
	sample, ok := p.samples[kind]
	if !ok {
		sample = p.learn(kind, text)
	}
	packed := p.press(sample, text)
	if len(packed.data) > len(text)/4 && len(text) >= 2*len(sample) && len(sample) < largestSample {
		packed = p.press(p.learn(kind, text), text) // the first of its kind was a poor example
	}
	return packed
}

func (p *Packer) learn(kind GVK, text []byte) string {
	if p.samples == nil {
		p.samples = map[GVK]string{}
	}
	sample := string(text[:min(len(text), largestSample)])
	p.samples[kind] = sample
	return sample
}

// press lets the sample go through the compressor before the text, and keeps what comes out after it: a flush ends at a byte. That
// takes one compressor for all samples, where flate.NewWriterDict takes one, of most of a megabyte, for each.
func (p *Packer) press(sample string, text []byte) Packed {
	p.out.Reset()
	if p.deflate == nil {
		p.deflate, _ = flate.NewWriter(nil, level) // the level is a good one
	}
	p.deflate.Reset(&p.out)
	_, _ = io.WriteString(p.deflate, sample) // a buffer takes all
	_ = p.deflate.Flush()
	start := p.out.Len()
	_, _ = p.deflate.Write(text)
	_ = p.deflate.Close()
	packed := Packed{data: string(p.out.Bytes()[start:]), sample: sample, size: len(text)}
	if p.out.Cap() > largestBuffer {
		p.out = bytes.Buffer{}
	}
	return packed
}

// largestBuffer is what a Packer keeps for the next text.
const largestBuffer = 64 << 10

// Text returns the text of what any Packer has packed; nil of the zero Packed. It is the caller's.
func (p *Packer) Text(t Packed) ([]byte, error) {
	if !t.Known() {
		return nil, nil
	}
	r, ok := p.readers.Get().(io.Reader)
	if !ok {
		r = flate.NewReader(nil)
	}
	if err := r.(flate.Resetter).Reset(strings.NewReader(t.data), []byte(t.sample)); err != nil {
		return nil, fmt.Errorf("unpack an object: %w", err)
	}
	text := make([]byte, t.size)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("unpack an object: %w", err)
	}
	p.readers.Put(r)
	return text, nil
}

// Known reports whether there is a text.
func (t Packed) Known() bool { return t.data != "" }

// Size returns about how many bytes the text takes as it is.
func (t Packed) Size() int64 { return int64(len(t.data)) + packedOverhead }

const packedOverhead = 48
