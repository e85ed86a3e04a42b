package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// format is the version of the text form. A newer one is refused: an older truce would forget what it cannot read. The first one has no guard.
const (
	format      = 2
	firstFormat = 1
)

type document struct {
	Format    int        `json:"format"`
	Kind      string     `json:"kind"`
	Name      string     `json:"name"`
	Space     string     `json:"namespace"`
	UID       string     `json:"uid,omitempty"`
	Revision  string     `json:"revision,omitempty"` // and of what it was rendered, see renderedAfter
	Guard     *Guard     `json:"guard,omitempty"`
	Operation *Operation `json:"operation,omitempty"`
	Entries   [][]string `json:"entries"` // group, version, kind, namespace, name, uid, digest (and @resourceVersion, ~expiry), and for one that was found so: found
}

const (
	entryFields = 7
	found       = "found"
)

// FormatRecord writes a record as text: equal records print equal texts.
func FormatRecord(r Record) ([]byte, error) {
	d := document{
		Format: format, Kind: r.App.Kind, Name: r.App.Name, Space: r.App.Namespace, UID: r.AppUID, Revision: revisionText(r),
		Entries: make([][]string, 0, len(r.Entries)),
	}
	if r.Guard.Size != 0 || r.Guard.Origin != (Origin{}) || len(r.Guard.Pruned) > 0 || r.Guard.Continued != "" {
		d.Guard = &r.Guard
	}
	if r.Operation.Key != "" {
		d.Operation = &r.Operation
	}
	for _, e := range slices.SortedFunc(slices.Values(r.Entries), inOrder) {
		parts := []string{e.ID.Group, e.Version, e.ID.Kind, e.ID.Namespace, e.ID.Name, e.UID, digestText(e)}
		if e.Found {
			parts = append(parts, found)
		}
		d.Entries = append(d.Entries, parts)
	}
	return json.Marshal(d)
}

// ParseRecord reads what Print wrote. What Print would not write is an error: a record that lost a part must not pass for a shorter one.
func ParseRecord(text []byte) (Record, error) {
	r, err := parseDocument(text)
	if err != nil {
		return Record{}, fmt.Errorf("read inventory: %w", err)
	}
	return r, nil
}

func parseDocument(text []byte) (Record, error) {
	d, err := decodeDocument(text)
	if err != nil {
		return Record{}, err
	}
	r := Record{App: app.Key{Kind: d.Kind, Namespace: d.Space, Name: d.Name}, AppUID: d.UID}
	r.Revision, r.Rendered, _ = strings.Cut(d.Revision, renderedAfter)
	if d.Guard != nil {
		r.Guard = *d.Guard
	}
	if d.Operation != nil {
		r.Operation = *d.Operation
	}
	for i, f := range d.Entries {
		e, err := parseEntry(f)
		if err == nil && i > 0 && inOrder(r.Entries[i-1], e) >= 0 {
			err = fmt.Errorf("%s stands twice or out of order", e.ID)
		}
		if err != nil {
			return Record{}, fmt.Errorf("entry %d: %w", i, err)
		}
		r.Entries = append(r.Entries, e)
	}
	return r, nil
}

func decodeDocument(text []byte) (document, error) {
	var d document
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return d, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return d, errors.New("something follows its end")
	}
	switch {
	case d.Format != format && d.Format != firstFormat:
		return d, fmt.Errorf("format %d, this truce reads %d", d.Format, format)
	case d.Format == firstFormat && d.Guard != nil:
		return d, fmt.Errorf("a guard in format %d", firstFormat)
	case d.Format == firstFormat && d.Operation != nil:
		return d, fmt.Errorf("an operation in format %d", firstFormat)
	case d.Operation != nil && d.Operation.Key == "":
		return d, errors.New("an operation without a key")
	case d.Kind == "" || d.Name == "" || d.Entries == nil:
		return d, errors.New("a part is missing")
	}
	return d, nil
}

func parseEntry(f []string) (Entry, error) {
	wasFound := len(f) == entryFields+1 && f[entryFields] == found
	if len(f) != entryFields && !wasFound {
		return Entry{}, fmt.Errorf("%d parts, want %d", len(f), entryFields)
	}
	e := Entry{ID: object.ID{Group: f[0], Kind: f[2], Namespace: f[3], Name: f[4]}, Version: f[1], UID: f[5], Found: wasFound}
	if err := e.parseDigest(f[6]); err != nil {
		return Entry{}, err
	}
	if e.ID.Kind == "" || e.ID.Name == "" || e.Version == "" {
		return Entry{}, errors.New("an object without a name, kind or version")
	}
	return e, nil
}

// renderedAfter stands between the revision and of what it was rendered. A truce that does not know it reads a longer revision, which nothing is
// decided by.
const renderedAfter = "\n"

func revisionText(r Record) string {
	if r.Rendered == "" {
		return r.Revision
	}
	return r.Revision + renderedAfter + r.Rendered
}

// judgedAt stands between the digest and the state in which the object was judged. A truce that does not know the mark reads another
// digest than its own, and judges the object again. One that does not know the mark of the expiry reads a state that no object is in.
const (
	judgedAt  = "@"
	expiresAt = "~"
)

func digestText(e Entry) string {
	rest := e.Judged
	if e.Expires > 0 {
		rest += expiresAt + strconv.FormatInt(e.Expires, 10)
	}
	if rest == "" || e.Sent == "" {
		return e.Sent
	}
	return e.Sent + judgedAt + rest
}

// parseDigest reads what digestText prints.
func (e *Entry) parseDigest(text string) error {
	var expires string
	e.Sent, e.Judged, _ = strings.Cut(text, judgedAt)
	if e.Judged, expires, _ = strings.Cut(e.Judged, expiresAt); expires != "" {
		var err error
		if e.Expires, err = strconv.ParseInt(expires, 10, 64); err != nil {
			return fmt.Errorf("an expiry that is none: %w", err)
		}
	}
	if digestText(*e) != text {
		return errors.New("a state without a digest, or none after the mark for one")
	}
	return nil
}

func inOrder(a, b Entry) int { return a.ID.Compare(b.ID) }
