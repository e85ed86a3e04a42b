package overlay

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// keep stands in an override for what the kustomization says.
const keep = "*"

var (
	tagForm    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	digestForm = regexp.MustCompile(`^[A-Za-z0-9_+.-]+:[0-9a-fA-F]{32,}$`)
)

// longestTag is in bytes (the OCI distribution specification).
const longestTag = 128

// ParseImage reads an override as `kustomize edit set image` takes it: NAME:TAG, NAME@DIGEST, NAME=NEWNAME[:TAG][@DIGEST]. A * in
// the place of the new name, the tag or the digest keeps what the kustomization says; what is left out is taken away.
func ParseImage(text string) (Image, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return Image{}, errors.New("holds white space")
	}
	name, value, renames := strings.Cut(text, "=")
	if !renames {
		value = name
	}
	base, tag, digest := splitImage(value)
	if !renames {
		name, base = base, ""
	}
	switch {
	case name == "" || name == keep || renames && base == "":
		return Image{}, errors.New("names no image")
	case !renames && tag == "" && digest == "":
		return Image{}, errors.New("want NAME:TAG, NAME@DIGEST or NAME=NEWNAME[:TAG][@DIGEST]")
	case tag != "" && tag != keep && (len(tag) > longestTag || !tagForm.MatchString(tag)):
		return Image{}, fmt.Errorf("%q is no tag", tag)
	case digest != "" && digest != keep && !digestForm.MatchString(digest):
		return Image{}, fmt.Errorf("%q is no digest", digest)
	}
	return Image{Name: name, NewName: unlessKept(base), NewTag: unlessKept(tag), Digest: unlessKept(digest)}, nil
}

// splitImage parts NAME[:TAG][@DIGEST]; a colon before the last slash is a port's.
func splitImage(image string) (name, tag, digest string) {
	name, digest, _ = strings.Cut(image, "@")
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		name, tag = name[:at], name[at+1:]
	}
	return name, tag, digest
}

func unlessKept(text string) *string {
	if text == keep {
		return nil
	}
	return &text
}

// Over lays the override over an entry of a kustomization's images, which stays as it is.
func (m Image) Over(entry map[string]any) map[string]any {
	out := maps.Clone(entry)
	for key, value := range map[string]*string{"newName": m.NewName, "newTag": m.NewTag, "digest": m.Digest} {
		switch {
		case value == nil:
		case *value == "":
			delete(out, key)
		default:
			out[key] = *value
		}
	}
	return out
}

// ParseReplica reads NAME=COUNT, as `kustomize edit set replicas` takes it.
func ParseReplica(text string) (Replica, error) {
	name, count, _ := strings.Cut(text, "=")
	if name == "" {
		return Replica{}, errors.New("want NAME=COUNT")
	}
	n, err := ParseCount(count)
	return Replica{Name: name, Count: n}, err
}

// ParseCount reads a number of replicas.
func ParseCount(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 32) // as the API has it
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no number of replicas", text)
	}
	return n, nil
}

// String writes the override as ParseImage reads it.
func (m Image) String() string {
	text := m.Name
	if m.NewName == nil || *m.NewName != "" {
		text += "=" + written(m.NewName)
	}
	if m.NewTag == nil || *m.NewTag != "" {
		text += ":" + written(m.NewTag)
	}
	if m.Digest == nil || *m.Digest != "" {
		text += "@" + written(m.Digest)
	}
	return text
}

func written(part *string) string {
	if part == nil {
		return keep
	}
	return *part
}
