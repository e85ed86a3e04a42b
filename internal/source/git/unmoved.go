package git

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
)

// mostListed bounds what a server says of the references that begin with a name, in bytes.
const mostListed = 1 << 20

// sha1Digits is the length of the shorter hashes, in hexadecimal digits.
const sha1Digits = 40

// uploadPack is git's own name for what serves fetches, in addresses and types.
const uploadPack = "git-upload-pack"

// bringNamed brings what a name leads to, unless it is here.
func (t *fetchAttempt) bringNamed(ctx context.Context, want ref) (revision, error) {
	want, unmoved, err := t.poll(ctx, want)
	if err != nil {
		return revision{}, err
	}
	hasNeither := t.asked != nil && want.orTag != ""
	return want.eachName(func(one ref) (at revision, err error) {
		switch {
		case hasNeither:
			err = t.suggest(ctx, one, refNotFound(one))
		case !unmoved:
			err = t.suggest(ctx, one, t.get(ctx, one.name, oneCommit))
		}
		if err != nil {
			return revision{}, err
		}
		return t.repo.peel(keptRef(one.name), one.show)
	})
}

// poll finds out which name of a reference the server has, and reports whether it is where the last fetch has found it: one small request
// (gitprotocol-v2(5), ls-refs), and no process of git, where a fetch that finds nothing new takes three of each. Whatever else the server answers is left to a
// fetch, which says what is wrong; and so is a clone whose files are not as the last fetch of this process has left them, which a fetch finds to be damaged.
func (t *fetchAttempt) poll(ctx context.Context, want ref) (ref, bool, error) {
	names, isAsLeft := want.names(), t.leftFiles != "" && t.leftFiles == t.describeFiles()
	if t.oldProtocol || !isAsLeft && len(names) == 1 || t.to.scheme != "http" && t.to.scheme != "https" {
		return want, false, nil
	}
	have, known := map[string]string{}, ""
	if isAsLeft {
		var err error
		if have, known, err = t.keptOf(names); err != nil {
			return want, false, err
		}
	}
	if known == "" && len(names) == 1 {
		return want, false, nil
	}
	asking, cancel := context.WithTimeout(ctx, t.askTime())
	defer cancel()
	err := t.askWhere(asking, known, names...)
	switch {
	case ctx.Err() != nil:
		return want, false, context.Cause(ctx)
	case err != nil:
		t.oldProtocol = known != "" && errors.Is(err, errOldProtocol)
		return want, false, nil
	}
	i := slices.IndexFunc(names, func(name string) bool { return t.asked[name] != "" })
	if i < 0 {
		return want, false, nil
	}
	return want.named(names[i]), t.asked[names[i]] == have[names[i]], nil
}

// keptOf returns where some references were found, and the first that was found.
func (c *clone) keptOf(names []string) (have map[string]string, known string, err error) {
	have = map[string]string{}
	for _, name := range names {
		at, err := c.kept(name)
		if err != nil {
			return nil, "", err
		}
		have[name], known = at, cmp.Or(known, at)
	}
	return have, known, nil
}

// askShare is the part of a fetch's time, one of so many, that its small request may take: git has the rest where no answer comes.
const askShare = 6

// askTime is how long the answer to the small request is waited for: 10 s where a fetch has the default time.
func (r reach) askTime() time.Duration {
	if r.timeout <= 0 || r.timeout > source.DefaultTimeout {
		return source.DefaultTimeout / askShare
	}
	return r.timeout / askShare
}

// describeFiles has the names, sizes and times of the files that a fetch writes.
func (c *clone) describeFiles() string {
	var b strings.Builder
	for _, pattern := range []string{"objects/pack/*", "refs/truce/*", "packed-refs", "shallow"} {
		files, err := filepath.Glob(filepath.Join(c.dir, pattern))
		if err != nil {
			return "" // the patterns are legal
		}
		for _, file := range files {
			if info, err := os.Lstat(file); err == nil { // one that has just gone is not described
				fmt.Fprintln(&b, file, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String()
}

// errOldProtocol says that a server does not speak the protocol's version 2.
var errOldProtocol = errors.New("no answer of git's protocol 2")

// askWhere asks where references are; a hash that is known shows how long hashes are.
func (t *fetchAttempt) askWhere(ctx context.Context, known string, names ...string) error {
	question := pktLine("command=ls-refs\n")
	if len(known) > sha1Digits {
		question += pktLine("object-format=sha256\n")
	}
	question += "0001"
	for _, name := range names {
		question += pktLine("ref-prefix " + name + "\n")
	}
	answer, err := t.ask(ctx, question+"0000")
	if err != nil {
		return err
	}
	defer answer.Close()
	t.asked, err = findListed(io.LimitReader(answer, mostListed), names)
	return err
}

// ask sends a request of git's protocol 2, and returns the body of the answer. What is no answer of that protocol is an error.
func (t *fetchAttempt) ask(ctx context.Context, question string) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, t.to.String()+"/"+uploadPack, strings.NewReader(question))
	if err != nil {
		return nil, err
	}
	for key, value := range map[string]string{
		"Git-Protocol": "version=2", "User-Agent": "git/truce", "Content-Type": "application/x-" + uploadPack + "-request", "Accept": "application/x-" + uploadPack + "-result",
	} {
		q.Header.Set(key, value)
	}
	answer, err := t.send(q)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // what is no type is not the one that is wanted
	switch {
	case answer.StatusCode == http.StatusOK && kind == "application/x-"+uploadPack+"-result":
		return answer.Body, nil
	case answer.StatusCode == http.StatusOK, answer.StatusCode == http.StatusBadRequest, answer.StatusCode == http.StatusUnsupportedMediaType,
		answer.StatusCode == http.StatusNotImplemented:
		err = errOldProtocol
	default:
		err = fmt.Errorf("the server answers %s", answer.Status)
	}
	return nil, errors.Join(err, answer.Body.Close())
}

// pktLine is a line of git's protocol: its length in four hexadecimal digits, themselves included, and the text (gitprotocol-common(5)).
func pktLine(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// findListed reads an answer to ls-refs, and returns the hashes at references, of those that it has.
func findListed(answer io.Reader, names []string) (map[string]string, error) {
	in, found := bufio.NewReader(answer), map[string]string{}
	for {
		line, end, err := readPacket(in)
		switch {
		case err != nil:
			return nil, err
		case end:
			return found, nil
		}
		at, rest, _ := strings.Cut(line, " ")
		if !hashForm.MatchString(at) {
			return nil, errOldProtocol
		}
		if ref, _, _ := strings.Cut(rest, " "); slices.Contains(names, ref) { // what follows was not asked for
			found[ref] = at
		}
	}
}

// longestPacket is what the protocol permits, its length included.
const longestPacket = 65520

// readSize reads the size of the text that follows in a packet, in bytes; zero for the end of an answer or of one of its parts. What is of no
// known form is a sign of another protocol.
func readSize(in io.Reader) (int, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, err
	}
	size, err := strconv.ParseUint(string(head[:]), 16, 16)
	switch {
	case err == nil && (size == 0 || size == 1): // the flush and the delimiter
		return 0, nil
	case err != nil, size <= 4, size > longestPacket:
		return 0, errOldProtocol
	}
	return int(size) - 4, nil
}

// readPacket reads a line, or the end of an answer or of one of its parts.
func readPacket(in io.Reader) (line string, end bool, err error) {
	size, err := readSize(in)
	if err != nil || size == 0 {
		return "", err == nil, err
	}
	text := make([]byte, size)
	_, err = io.ReadFull(in, text)
	return strings.TrimSuffix(string(text), "\n"), false, err
}
