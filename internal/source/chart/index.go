package chart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// version is one version of a chart in an index.
type version struct {
	Version string    `yaml:"version" json:"version"`
	URLs    []string  `yaml:"urls" json:"urls"`
	Digest  string    `yaml:"digest" json:"digest"`
	Created time.Time `yaml:"-" json:"-"`
	Made    any       `yaml:"created" json:"created"` // of which Created is made: a wrong one makes no chart unusable
}

// The bounds of what of an index is in memory: of one version as text, or of an index that cannot be read as a stream, which takes some hundred times as much
// while it is decoded; and of the versions of a chart.
const (
	mostAtOnce   = 1 << 20
	mostVersions = 20_000
)

// found is what one pass over an index finds.
type found struct {
	apiVersion bool
	versions   []version // of the chart that was looked for
	charts     int
}

// add takes in versions, of which it keeps what a choice and a download need.
func (f *found) add(name string, more ...version) error {
	if len(f.versions)+len(more) > mostVersions {
		return transport.Failed(source.LimitExceeded, "the index has more than %d versions of chart %q", mostVersions, name)
	}
	for _, v := range more {
		v.Created, v.Made = createdAt(v.Made), nil
		if len(v.URLs) > 1 {
			v.URLs = []string{v.URLs[0]}
		}
		f.versions = append(f.versions, v)
	}
	return nil
}

func errLongVersion(name string) error {
	return transport.Failed(source.LimitExceeded, "the index has more than %d bytes about one version of chart %q", mostAtOnce, name)
}

// errNoStream says that an index is not in one of the forms that can be read as a stream.
var errNoStream = errors.New("it is neither JSON nor in the form that helm repo index writes")

// checkIndex makes sure that an index can be read.
func checkIndex(index *pack.Pack) error {
	all, err := readIndex(index, "")
	if err == nil && !all.apiVersion {
		err = errors.New("no API version specified")
	}
	if err != nil {
		return transport.Failed(source.IndexationFailed, "read the index: %w", err)
	}
	return nil
}

// readIndex reads the versions of one chart of an index, from the disk.
func readIndex(index *pack.Pack, name string) (out found, err error) {
	read := func(by func(io.Reader, string) (found, error)) error {
		f, err := index.Open(indexFile)
		if err != nil {
			return err
		}
		out, err = by(f, name)
		_, rest := io.Copy(io.Discard, f) // to the end: its hash is compared there
		return errors.Join(err, rest, f.Close())
	}
	if err = read(scanIndex); errors.Is(err, errNoStream) {
		err = read(decodeWhole)
	}
	return out, err
}

// scanIndex reads an index as a stream: JSON, or YAML as helm repo index writes it.
func scanIndex(in io.Reader, name string) (found, error) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	begin, err := buffered.Peek(1)
	if err == nil && begin[0] == '{' {
		return scanJSON(buffered, name)
	}
	s := scanner{name: name}
	for {
		line, partly, err := buffered.ReadLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.chunk(line, partly)
		}
		if err != nil {
			return found{}, err
		}
	}
	return s.finish()
}

// scanner finds the block of one chart in the lines of an index. What is below a key is indented more than the key, or a list item beside it.
type scanner struct {
	name string
	out  found

	continued bool // the next chunk is of the same line
	entries   bool // within entries
	indent    int  // of the names of charts; 0 until the first
	wanted    bool // within the chart that is looked for
	block     bytes.Buffer
}

// chunk takes a line, or a part of a long one.
func (s *scanner) chunk(text []byte, partly bool) error {
	begins := !s.continued
	s.continued = partly
	if begins {
		if err := s.line(text); err != nil {
			return err
		}
	}
	if !s.wanted {
		return nil
	}
	if s.block.Len()+len(text) > mostAtOnce {
		if err := s.decodeFirst(); err != nil {
			return err
		}
	}
	s.block.Write(text)
	if !partly {
		s.block.WriteByte('\n')
	}
	return nil
}

// line looks where a line belongs.
func (s *scanner) line(text []byte) error {
	body := bytes.TrimLeft(text, " ")
	indent := len(text) - len(body)
	switch {
	case len(body) == 0 || body[0] == '#':
		return nil
	case body[0] == '\t':
		return errNoStream
	case indent == 0:
		return s.top(body)
	case !s.entries:
		return nil
	case s.indent == 0:
		s.indent = indent
	}
	switch {
	case indent > s.indent:
		return nil
	case indent < s.indent:
		return errNoStream
	case body[0] == '-':
		return nil
	}
	key, rest, err := indexKeyOf(body)
	if err != nil || len(rest) > 0 {
		return errNoStream
	}
	s.out.charts++
	s.wanted = s.name != "" && string(key) == s.name
	return nil
}

// top looks at a line that begins in the first column.
func (s *scanner) top(body []byte) error {
	if bytes.Equal(bytes.TrimRight(body, " "), []byte("---")) && !s.entries && !s.out.apiVersion {
		return nil
	}
	s.entries, s.wanted = false, false
	name, rest, err := indexKeyOf(body)
	key := string(name)
	switch {
	case err != nil:
		return err
	case key == "apiVersion":
		s.out.apiVersion = len(rest) > 0
	case key == "entries" && s.indent != 0:
		return errNoStream
	case key == "entries" && string(rest) == "{}":
	case key == "entries" && len(rest) > 0:
		return errNoStream
	case key == "entries":
		s.entries = true
	}
	return nil
}

// indexKeyOf splits a line into a key and what follows it on the line, without comments.
func indexKeyOf(body []byte) (key, rest []byte, err error) {
	key, rest, ok := bytes.Cut(body, []byte(":"))
	if !ok || len(rest) > 0 && rest[0] != ' ' || bytes.ContainsAny(key, "{}[]&*!|>?,%@`#\t\\") {
		return nil, nil, errNoStream
	}
	rest = bytes.TrimSpace(rest)
	if len(rest) > 0 && rest[0] == '#' {
		rest = nil
	}
	key = bytes.TrimSpace(key)
	if n := len(key); n > 1 && (key[0] == '"' || key[0] == '\'') {
		if key[n-1] != key[0] || bytes.ContainsAny(key[1:n-1], `"'`) {
			return nil, nil, errNoStream
		}
		key = key[1 : n-1]
	} else if bytes.ContainsAny(key, `"'`) {
		return nil, nil, errNoStream
	}
	return key, rest, nil
}

// decodeFirst reads the versions of the block but the last, which goes on in the next line.
func (s *scanner) decodeFirst() error {
	block := s.block.Bytes()
	head, first, ok := bytes.Cut(block, []byte("\n"))
	last := -1
	if item := itemForm.FindSubmatch(first); item != nil {
		last = bytes.LastIndex(first, slices.Concat([]byte("\n"), item[1]))
	}
	if !ok || last < 0 {
		return errLongVersion(s.name)
	}
	rest := slices.Concat(head, first[last:])
	s.block.Truncate(len(head) + 1 + last + 1)
	if err := s.decode(); err != nil {
		return err
	}
	s.block.Reset()
	s.block.Write(rest)
	return nil
}

// itemForm finds how the first line below the name of a chart begins, as each of its versions does.
var itemForm = regexp.MustCompile(`^(?: *(?:#.*)?\n)*( *- )`)

// finish reads what is left of the block that was found.
func (s *scanner) finish() (found, error) {
	if s.block.Len() == 0 {
		return s.out, nil
	}
	if err := s.decode(); err != nil {
		return found{}, err
	}
	return s.out, nil
}

// decode reads the versions of the block.
func (s *scanner) decode() error {
	var block map[string][]version
	var fields *yaml.TypeError // of some versions: the others can be read
	if err := yaml.Unmarshal(s.block.Bytes(), &block); err != nil && !errors.As(err, &fields) {
		return transport.Failed(source.IndexationFailed, "read the index: chart %q: %w", s.name, err)
	}
	return s.out.add(s.name, block[s.name]...)
}

// decodeWhole reads an index that is no stream, if it is small.
func decodeWhole(in io.Reader, name string) (found, error) {
	data, err := io.ReadAll(io.LimitReader(in, mostAtOnce+1))
	if err != nil {
		return found{}, err
	}
	if len(data) > mostAtOnce {
		return found{}, fmt.Errorf("%w, and too large to be read at once", errNoStream)
	}
	var whole struct {
		APIVersion string `yaml:"apiVersion"`
		Entries    map[string][]version
	}
	if err := yaml.Unmarshal(data, &whole); err != nil {
		return found{}, err
	}
	out := found{apiVersion: whole.APIVersion != "", charts: len(whole.Entries)}
	return out, out.add(name, whole.Entries[name]...)
}
