package payload

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/pattern"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// CommitState is what a commit's status says. The zero value is none.
type CommitState string

// The states of commits. Each server has words of its own for them.
const (
	Pending CommitState = "pending"
	Success CommitState = "success"
	Failure CommitState = "failure"
)

// Commit is a commit's status. The zero value is none.
type Commit struct {
	SHA   string
	State CommitState
	Name  string // as the expression of the Provider has it; empty for the usual one
	Fault string // why the expression gave none
}

// IsCommitStatus reports whether a type of Provider writes the status of commits: it gets results of runs alone.
func IsCommitStatus(kind string) bool {
	return slices.Contains([]string{"github", "gitlab", "gitea", "bitbucket", "bitbucketserver", "azuredevops"}, kind)
}

// commitKey is the metadata of an object that names the commit of its messages.
const commitKey = "commit"

// sha is the end of a revision of Git: main@sha1:HASH, sha1:HASH, main/HASH of old, or the hash alone.
var sha = pattern.OnDemand(`^(?:.*@)?(?:sha1:)?([0-9a-f]{40})$|/([0-9a-f]{40})$`)

// ResultOf returns what a message says about a commit; false for one that is no run's result, or that is about no commit of Git. The object may name the
// commit itself, as in Flux: a chart's version says nothing of it.
func ResultOf(m notify.Message) (Commit, bool) {
	parts := sha().FindStringSubmatch(cmp.Or(m.Annotations[route.MetadataPrefix+commitKey], m.Origin, m.Revision))
	if parts == nil {
		return Commit{}, false
	}
	c := Commit{SHA: cmp.Or(parts[1], parts[2])}
	switch {
	case m.Matter.Kind == matter.Failure && m.Matter.Phase == notify.Ends:
		c.State = Success
	case m.Matter.Kind == matter.Failure, m.Matter.Kind == matter.Unhealthy && m.Matter.Phase == notify.Opens, m.Matter.Kind == matter.HeldPrune && m.Matter.Phase == notify.Opens:
		c.State = Failure
	case m.Reason == "DependencyNotReady", m.Reason == "Progressing":
		c.State = Pending
	default:
		return Commit{}, false
	}
	return c, true
}

// commitContents returns the newest result of each app and commit, in the order of time, and one content of the notes that say none.
func commitContents(notes []route.Note) []Content {
	newest := map[string]int{}
	nothing := Content{Nothing: true}
	var out []Content
	for i, n := range slices.Backward(notes) {
		m := n.Message
		m.Origin = cmp.Or(n.Metadata[commitKey], m.Origin)
		result, is := ResultOf(m)
		if !is {
			nothing.From = append(nothing.From, i)
			continue
		}
		key := n.Message.About.String() + " " + result.SHA
		at, known := newest[key]
		if known {
			out[at].From = append(out[at].From, i)
			continue
		}
		c := contentOf([]route.Note{n})
		c.Commit, c.From = result, []int{i}
		c.Commit.Name, c.Commit.Fault = n.StatusName, n.NameFault
		newest[key] = len(out)
		out = append(out, c)
	}
	slices.Reverse(out)
	if len(nothing.From) > 0 {
		out = append(out, nothing)
	}
	return out
}

// status is what all servers get, in the form of each.
type status struct {
	Commit
	repository  repository
	name        string // kind/name and the first part of the Provider's UID, as in Flux
	description string
}

// longestDescription is what GitHub takes.
const longestDescription = 140

func newStatus(t Target, c Content) (status, error) {
	switch {
	case c.Commit.SHA == "":
		return status{}, errors.New("it is no result of a commit")
	case c.Commit.Fault != "":
		return status{}, errors.New(c.Commit.Fault)
	}
	r, err := parseRepository(t.Type, t.Address)
	if err != nil {
		return status{}, err
	}
	uid, _, _ := strings.Cut(t.UID, "-")
	usual := strings.ToLower(c.Message.About.Kind + "/" + c.Message.About.Name + "/" + uid)
	s := status{Commit: c.Commit, repository: r, name: cmp.Or(c.Commit.Name, strings.TrimSuffix(usual, "/")), description: wordsOf(c.Message.Reason)}
	if c.Commit.State != Success {
		first, _, _ := strings.Cut(foreignText(c.Message.Text), "\n")
		s.description += ": " + first
	}
	s.description = shorten(s.description, longestDescription)
	return s, nil
}

// wordsOf returns a reason as words: ReconciliationSucceeded as "reconciliation succeeded".
func wordsOf(reason string) string {
	var b strings.Builder
	for i, r := range reason {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// key is a name that is short enough for every server.
func (s status) key() string {
	sum := sha1.Sum([]byte(s.name)) //nolint:gosec // it is a name, as Flux makes it, and protects nothing
	return hex.EncodeToString(sum[:])
}

// repository is where a repository is, by its address for people or for git.
type repository struct {
	server string   // scheme and host
	path   []string // owner and name, or more
}

func (r repository) escaped() string { return escapePath(r.path) }

func escapePath(parts []string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = url.PathEscape(p)
	}
	return strings.Join(out, "/")
}

// scpForm is git@host:owner/name.
var scpForm = pattern.OnDemand(`^(?:[^@/:]+@)?([^/:]+):([^/].*)$`)

func parseRepository(kind, address string) (repository, error) {
	lack := missing(kind, "the HTTPS address of a repository in spec.address, or as the key address of the Secret")
	if m := scpForm().FindStringSubmatch(address); m != nil && !strings.Contains(address, "://") {
		address = "ssh://" + m[1] + "/" + m[2]
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return repository{}, lack
	}
	r := repository{server: u.Scheme + "://" + u.Host, path: strings.Split(strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git"), "/")}
	switch u.Scheme {
	case "http", "https":
	case "ssh":
		r.server = "https://" + u.Hostname()
	default:
		return repository{}, lack
	}
	if slices.ContainsFunc(r.path, func(p string) bool { return p == "" || p == "." || p == ".." }) {
		return repository{}, lack
	}
	return r, nil
}

// belowPath is the repository at a server that is reached below a path, as Gitea with a ROOT_URL that has one: its last two parts are owner and name.
func (r repository) belowPath() repository {
	if at := len(r.path) - 2; at > 0 {
		return repository{server: r.server + "/" + escapePath(r.path[:at]), path: r.path[at:]}
	}
	return r
}

// need is an error where the repository's path is not that of an owner and a repository.
func (r repository) need(kind, example string) error {
	if len(r.path) != 2 {
		return missing(kind, "an address such as "+example)
	}
	return nil
}

// NameStatus sets the name of a note's status by the expression of a Provider, where it has one; provider and alert are the custom resources. They
// hold no credentials but what their authors wrote into them.
func NameStatus(e cel.Expression, n *route.Note, provider, alert object.Object) {
	if e.IsZero() {
		return
	}
	text, err := json.Marshal(newEvent(contentOf([]route.Note{*n})))
	var event map[string]any
	if err == nil {
		err = json.Unmarshal(text, &event)
	}
	if err == nil {
		n.StatusName, err = e.Text(map[string]any{cel.Event: event, cel.Provider: map[string]any(provider), cel.Alert: map[string]any(alert)})
	}
	switch {
	case err != nil:
		n.NameFault = "spec.commitStatusExpr: " + err.Error()
	case strings.TrimSpace(n.StatusName) == "":
		n.NameFault = "spec.commitStatusExpr: gives an empty name"
	}
}
