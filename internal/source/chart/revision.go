package chart

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// generatedKey begins the line of an index that says when it was made.
var generatedKey = []byte("generated:")

// indexSum sums an index: whole, which is its revision, as in Flux, and without the line that says when it was made. A server that makes its index for each
// request, as Gitea does, would else have a new revision at each look, with an Event, a write of the status and, as its index has no digests, all charts again.
type indexSum struct {
	whole   hash.Hash
	sum     hash.Hash // without the line
	head    []byte    // of the line, until it is known whether it is that one
	decided bool
	dropped bool
}

func newIndexSum() *indexSum { return &indexSum{whole: sha256.New(), sum: sha256.New()} }

// Write implements io.Writer.
func (s *indexSum) Write(p []byte) (int, error) {
	s.whole.Write(p)
	for line := range bytes.Lines(p) {
		s.add(line)
		if line[len(line)-1] == '\n' {
			s.endLine()
		}
	}
	return len(p), nil
}

func (s *indexSum) add(text []byte) {
	if !s.decided {
		s.head = append(s.head, text...)
		if len(s.head) < len(generatedKey) {
			return
		}
		text, s.decided, s.dropped = s.head, true, bytes.HasPrefix(s.head, generatedKey)
	}
	if !s.dropped {
		s.sum.Write(text)
	}
}

func (s *indexSum) endLine() {
	if !s.decided {
		s.sum.Write(s.head)
	}
	s.head, s.decided, s.dropped = s.head[:0], false, false
}

// revision is that of what was written.
func (s *indexSum) revision() string { return "sha256:" + hex.EncodeToString(s.whole.Sum(nil)) }

// content is the same for what was written at another time. Nothing can be written after it.
func (s *indexSum) content() string {
	s.endLine()
	return hex.EncodeToString(s.sum.Sum(nil))
}
