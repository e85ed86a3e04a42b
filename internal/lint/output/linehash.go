package output

import (
	"io/fs"
	"strconv"
	"unicode/utf16"
)

// GitHub recognises an alert, while code around it moves, by a hash of the line that it begins at and of what follows: the action that
// uploads SARIF computes primaryLocationLineHash over the 100 characters from the begin of the line on, without blanks and with all ends
// of lines alike (github/codeql-action, src/fingerprints.ts). What it finds there already it compares, so it must be the same.
const (
	hashBlock = 100
	hashBase  = 37
	endOfFile = 0xFFFF
)

// lineHasher computes them, one file at a time.
type lineHasher struct {
	window [hashBlock]uint64
	lines  [hashBlock]int // the line that begins at that place of the window; 0 for none
	at     int
	sum    uint64
	first  uint64 // hashBase to the power of hashBlock
	seen   map[string]int
	out    []string
}

// lineHashes returns the hash of each line of a text, that of line 1 at index 0.
func lineHashes(text []byte) []string {
	h := &lineHasher{first: 1, seen: map[string]int{}}
	for range hashBlock {
		h.first *= hashBase
	}
	begin, afterCR, line := true, false, 0
	for _, c := range append(utf16.Encode([]rune(string(text))), endOfFile) {
		if c == ' ' || c == '\t' || afterCR && c == '\n' {
			afterCR = false
			continue
		}
		if afterCR = c == '\r'; afterCR {
			c = '\n'
		}
		h.record()
		if begin {
			line++
			h.lines[h.at] = line
		}
		begin = c == '\n'
		h.take(uint64(c))
	}
	for range hashBlock {
		h.record()
		h.take(0)
	}
	return h.out
}

// record stores the hash of the line that began a whole window ago.
func (h *lineHasher) record() {
	if h.lines[h.at] == 0 {
		return
	}
	sum := strconv.FormatUint(h.sum, 16)
	h.seen[sum]++
	h.out = append(h.out, sum+":"+strconv.Itoa(h.seen[sum]))
	h.lines[h.at] = 0
}

func (h *lineHasher) take(c uint64) {
	h.sum = hashBase*h.sum + c - h.first*h.window[h.at]
	h.window[h.at] = c
	h.at = (h.at + 1) % hashBlock
}

// maxHashed bounds a file of which lines are hashed; renderers refuse larger ones by default.
const maxHashed = 16 << 20

// lineHashCache are the lines' hashes by file, each file read once.
type lineHashCache struct {
	files fs.FS
	known map[string][]string
}

// of returns the hash of a line; empty for a file that cannot be read, or has no such line: GitHub then computes its own.
func (h *lineHashCache) of(file string, line int) string {
	lines, ok := h.known[file]
	if !ok {
		lines = h.read(file)
		h.known[file] = lines
	}
	if line < 1 || line > len(lines) {
		return ""
	}
	return lines[line-1]
}

func (h *lineHashCache) read(file string) []string {
	if h.files == nil || !fs.ValidPath(file) {
		return nil
	}
	info, err := fs.Stat(h.files, file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxHashed {
		return nil
	}
	text, err := fs.ReadFile(h.files, file)
	if err != nil {
		return nil
	}
	return lineHashes(text)
}
