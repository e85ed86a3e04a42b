package git

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

const oneCommit = "--depth=1"

// get fetches one reference or commit to where it is kept.
func (t *fetchAttempt) get(ctx context.Context, name string, depth string) error {
	if depth == oneCommit {
		if done, err := t.getFirst(ctx, name); done || err != nil {
			return err
		}
	}
	return t.run(ctx, []string{"+" + name + ":" + keptRef(name)}, depth)
}

// getFirst is get where the clone holds nothing: two requests of truce's own (gitprotocol-v2(5), ls-refs and fetch) and git's index-pack, where `git
// fetch` takes five processes. It is false for what is left to git, which knows more and says what is wrong: whatever a server answers that is not usual.
func (t *fetchAttempt) getFirst(ctx context.Context, name string) (done bool, err error) {
	if t.oldProtocol || t.byGitAlone || t.to.scheme != "http" && t.to.scheme != "https" || !t.isEmpty() {
		return false, nil
	}
	hash := name
	if !hashForm.MatchString(name) {
		asking, cancel := context.WithTimeout(ctx, t.askTime())
		defer cancel()
		if t.asked == nil {
			err = t.askWhere(asking, "", name)
		}
		hash = t.asked[name]
	}
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil || len(hash) != sha1Digits: // the clone has SHA-1 until git finds that the server has the other
		t.oldProtocol = errors.Is(err, errOldProtocol)
		return false, nil
	}
	err = t.receive(ctx, hash)
	switch {
	case err == nil:
		return true, t.keep(name, hash)
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errorReason(err) == source.LimitExceeded:
		return false, err
	}
	t.byGitAlone = true
	return false, nil
}

// isEmpty reports whether the clone has no object.
func (c *clone) isEmpty() bool {
	packs, err := os.ReadDir(filepath.Join(c.dir, "objects/pack"))
	return err == nil && len(packs) == 0
}

// keep writes where a reference was found.
func (c *clone) keep(name, hash string) error {
	return replaceFile(filepath.Join(c.dir, keptRef(name)), hash+"\n")
}

// replaceFile writes a file of a clone whole, under the name that git gives to a file that it replaces.
func replaceFile(file, content string) error {
	if err := os.WriteFile(file+".lock", []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".lock", file)
}

// receive brings one commit, or the tag object and its commit, without what is before it.
func (t *fetchAttempt) receive(ctx context.Context, hash string) error {
	answer, err := t.ask(ctx, pktLine("command=fetch\n")+"0001"+pktLine("no-progress\n")+pktLine("ofs-delta\n")+pktLine("want "+hash+"\n")+
		pktLine("deepen 1\n")+pktLine("done\n")+"0000")
	if err != nil {
		return err
	}
	defer answer.Close()
	in := bufio.NewReader(answer)
	shallow, err := readShallow(in)
	if err != nil {
		return err
	}
	return t.index(ctx, &band{in: in, most: packFactor * t.limits.Bytes}, shallow, hash)
}

// mostLines is how many lines an answer to fetch may have before the pack. It has four where one commit is asked for.
const mostLines = 16

// readShallow reads an answer to fetch as far as the pack, and returns the commits whose parents it leaves out.
func readShallow(in io.Reader) (shallow []string, err error) {
	for range mostLines {
		line, end, err := readPacket(in)
		hash, isShallow := strings.CutPrefix(line, "shallow ")
		switch {
		case err != nil:
			return nil, err
		case line == "packfile":
			return shallow, nil
		case isShallow && hashForm.MatchString(hash):
			shallow = append(shallow, hash)
		case !end && line != "shallow-info":
			return nil, errOldProtocol
		}
	}
	return nil, errOldProtocol
}

// index has git store a pack, which it checks as a fetch does, and finds that the pack has what was asked for.
func (t *fetchAttempt) index(ctx context.Context, pack *band, shallow []string, hash string) error {
	file := filepath.Join(t.dir, "shallow")
	args := []string{"index-pack", "--stdin", "--strict", "--check-self-contained-and-connected"}
	if len(shallow) > 0 {
		if err := os.WriteFile(file+".lock", []byte(strings.Join(shallow, "\n")+"\n"), 0o600); err != nil {
			return err
		}
		args = append([]string{"--shallow-file", file + ".lock"}, args...)
	}
	_, err := t.runner.outputFor(ctx, t.dir, offline, pack, args...)
	switch {
	case pack.refused != nil:
		return pack.refused
	case err != nil:
		return err
	case len(shallow) > 0:
		if err := os.Rename(file+".lock", file); err != nil {
			return err
		}
	}
	got, err := t.repo.read(hash)
	if err == nil && got.kind == "" {
		err = errors.New("the pack does not have what was asked for")
	}
	return err
}

// band is the pack in an answer, which has it in packets beside what the server says (gitprotocol-v2(5), fetch).
type band struct {
	in      *bufio.Reader
	left    int   // of the packet that is being read, in bytes
	got     int64 // of the pack, in bytes
	most    int64 // that the pack may have
	refused error // it has more
}

// The first bytes of packets; 3 says why the server has failed.
const (
	packBand = 1
	saidBand = 2
)

// Read implements io.Reader.
func (b *band) Read(p []byte) (int, error) {
	for b.left == 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n, err := b.in.Read(p[:min(len(p), b.left)])
	b.left -= n
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// next goes to the next packet that has a part of the pack; io.EOF is the end of the answer.
func (b *band) next() error {
	size, err := readSize(b.in)
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case size == 0:
		return io.EOF
	}
	kind, err := b.in.ReadByte()
	switch {
	case err != nil:
		return err
	case kind == packBand:
		b.left = size - 1
		if b.got += int64(b.left); b.got > b.most {
			b.refused = tooMuchSent(b.most)
		}
		return b.refused
	case kind == saidBand:
		_, err := b.in.Discard(size - 1)
		return err
	}
	return errors.New("the server has failed")
}
