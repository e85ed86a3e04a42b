package git

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/truce-gitops/truce/internal/source"
)

// ref is a checked source.Ref.
type ref struct {
	commit  string // full hash, lower case, or ""
	short   string // the first digits of one, lower case, or ""
	name    string // full reference name, or "" with versions or a bare commit
	orTag   string // the full name of the tag that is meant where no branch has the name; empty for none
	show    string // what stands before "@" in a revision
	version string // the constraint as written
	strict  bool   // as source.Ref.Strict
	allowed *semver.Constraints
}

var hashForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// parseRef applies the precedence of Flux's spec.ref and refuses what git would not take as a reference.
func parseRef(r source.Ref) (ref, error) {
	switch {
	case isShort(r):
		return ref{short: r.Commit}, nil
	case r.Any != "":
		in, err := parseRefName("refs/heads/"+r.Any, r.Any)
		in.orTag = tagNames + r.Any
		return in, err
	case r.Commit != "":
		return parseCommit(r)
	case r.Name != "":
		return parseRefName(r.Name, r.Name)
	case r.SemVer != "":
		c, err := semver.NewConstraint(r.SemVer)
		if err != nil {
			return ref{}, sourceError(source.RefInvalid, "semver %q: %w", r.SemVer, err)
		}
		return ref{version: r.SemVer, strict: r.Strict, allowed: c}, nil
	case r.Tag != "":
		return parseRefName("refs/tags/"+r.Tag, r.Tag)
	case r.Branch != "":
		return parseRefName("refs/heads/"+r.Branch, r.Branch)
	}
	return parseRefName("refs/heads/master", "master")
}

func parseCommit(r source.Ref) (ref, error) {
	hash := strings.ToLower(r.Commit)
	if !hashForm.MatchString(hash) {
		return ref{}, sourceError(source.RefInvalid, "commit %q is not a full hash", r.Commit)
	}
	if r.Branch == "" {
		return ref{commit: hash}, nil
	}
	in, err := parseRefName("refs/heads/"+r.Branch, r.Branch)
	in.commit = hash
	return in, err
}

func parseRefName(name, show string) (ref, error) {
	if err := checkRefName(name); err != nil {
		return ref{}, sourceError(source.RefInvalid, "reference %q: %w", show, err)
	}
	if strings.HasPrefix(show, "-") {
		return ref{}, sourceError(source.RefInvalid, `reference %q begins with "-"`, show)
	}
	return ref{name: name, show: show}, nil
}

// key identifies a reference within one clone.
func (r ref) key() string {
	return fmt.Sprint(r.commit, r.short, " ", r.name, " ", r.orTag, " ", r.version, " ", r.strict)
}

// names are those that it may mean, in the order in which they are looked for.
func (r ref) names() []string {
	if r.orTag == "" {
		return []string{r.name}
	}
	return []string{r.name, r.orTag}
}

// named is the reference where one of its names is meant.
func (r ref) named(name string) ref {
	r.name, r.orTag = name, ""
	return r
}

// eachName tries each name until one is found.
func (r ref) eachName(try func(ref) (revision, error)) (revision, error) {
	var missing []error
	for _, name := range r.names() {
		at, err := try(r.named(name))
		if errorReason(err) != source.RefNotFound {
			at.name = name
			return at, err
		}
		missing = append(missing, err)
	}
	if len(missing) == 1 {
		return revision{}, missing[0]
	}
	return revision{}, sourceError(source.RefNotFound, "neither a branch nor a tag is called %q: %w; %w", r.show, missing[0], missing[1])
}

// checkRefName has the rules of git-check-ref-format(1), and wants a full name: HEAD or refs/...
func checkRefName(name string) error {
	if name == "HEAD" {
		return nil
	}
	if !strings.HasPrefix(name, "refs/") {
		return errors.New(`not a full name: it does not begin with "refs/"`)
	}
	for _, bad := range []string{"..", "@{", "//"} {
		if strings.Contains(name, bad) {
			return fmt.Errorf("has %q", bad)
		}
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }); i >= 0 {
		return fmt.Errorf("has the character %q", name[i])
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return fmt.Errorf("has the part %q", part)
		}
	}
	if strings.HasSuffix(name, ".") || len(name) > 1024 {
		return errors.New(`ends in "." or is longer than 1024 bytes`)
	}
	return nil
}

// revision is a commit that a reference led to.
type revision struct {
	commit string
	show   string
	name   string // the full name that was found, of a reference with a name
}

// String is Flux's form of a revision.
func (r revision) String() string {
	algorithm := "sha1"
	if len(r.commit) == 64 {
		algorithm = "sha256"
	}
	if r.show == "" {
		return algorithm + ":" + r.commit
	}
	return r.show + "@" + algorithm + ":" + r.commit
}

// newest picks the tag with the highest version that the constraint allows; of equal versions the last by name, so that the order of the list decides nothing.
func (r ref) newest(tags []string) (string, error) {
	var best *semver.Version
	var name string
	for _, tag := range tags {
		v, err := r.parseVersion(tag)
		if err != nil || !r.allowed.Check(v) {
			continue // a tag that is no version is no candidate
		}
		if best == nil || cmp.Or(v.Compare(best), cmp.Compare(tag, name)) > 0 {
			best, name = v, tag
		}
	}
	if best == nil {
		return "", sourceError(source.RefNotFound, "no tag matches semver %q%s", r.version, describeChoices("tags", tags))
	}
	return name, nil
}

// parseVersion reads a tag as a version.
func (r ref) parseVersion(tag string) (*semver.Version, error) {
	if r.strict {
		return semver.StrictNewVersion(strings.TrimPrefix(tag, "v"))
	}
	return semver.NewVersion(tag)
}

// reasonOfNone is why a reference is not there: a repository without a branch is empty.
func reasonOfNone(prefix string, names []string) source.Reason {
	if prefix == "refs/heads/" && len(names) == 0 {
		return source.EmptyRepository
	}
	return source.RefNotFound
}

// ordinary names are shown; any other may be a sentence of the server's, or what it was sent.
var ordinary = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]{0,59}$`)

// describeChoices lists up to five ordinary names to choose from.
func describeChoices(kind string, names []string) string {
	var shown []string
	for _, name := range names {
		if len(shown) < 5 && ordinary.MatchString(name) {
			shown = append(shown, name)
		}
	}
	switch more := len(names) - len(shown); {
	case len(names) == 0:
		return "; there are no " + kind
	case len(shown) == 0:
		return fmt.Sprintf("; there are %d %s", more, kind)
	case more > 0:
		return fmt.Sprintf("; there are %s and %d more %s", strings.Join(shown, ", "), more, kind)
	}
	return "; there are the " + kind + " " + strings.Join(shown, ", ")
}
