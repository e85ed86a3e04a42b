package subscription

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrAwaited says that a commit may be known soon: its repository is about to be fetched for the first time.
var ErrAwaited = errors.New("its repository was not fetched yet")

// mostCommits bounds the commits that the triggers and templates of one look at an Application ask for.
const mostCommits = 10

// Commit is what repo.GetCommitMetadata returns, with the names of Argo CD. All texts in it are by others.
type Commit struct {
	Message string
	Author  string // "Name <address>"
	Date    time.Time
	Tags    []string
}

// Subject is the Application of one look, which is for one goroutine.
type Subject struct {
	App map[string]any
	Now time.Time
	// Commit reads a commit of the Application's repositories; nil where none can be read. The error is ErrAwaited where it is to be asked again.
	Commit func(hash string) (Commit, error)

	read   map[string]readCommit
	failed error // the last commit that could not be read
}

type readCommit struct {
	Commit
	err error
}

// commit reads each commit once. One that is not named is no failure: the Application has no revision yet.
func (s *Subject) commit(hash string, escape func(string) string) (Commit, error) {
	if hash == "" {
		return Commit{}, errors.New("repo.GetCommitMetadata: there is no revision yet")
	}
	got, known := s.read[hash]
	switch {
	case known:
	case s.Commit == nil:
		got.err = errors.New("there are no repositories here")
	case len(s.read) >= mostCommits:
		got.err = fmt.Errorf("more than %d commits are asked for", mostCommits)
	default:
		if s.read == nil {
			s.read = map[string]readCommit{}
		}
		got.Commit, got.err = s.Commit(hash)
		s.read[hash] = got
	}
	if got.err != nil {
		s.failed = fmt.Errorf("repo.GetCommitMetadata: %w", got.err)
		return Commit{}, s.failed
	}
	out := Commit{Message: escape(strings.TrimSpace(got.Message)), Author: escape(got.Author), Date: got.Date}
	for _, tag := range got.Tags {
		out.Tags = append(out.Tags, escape(tag))
	}
	return out, nil
}
