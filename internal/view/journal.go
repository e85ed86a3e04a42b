package view

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report/boltfile"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/journal/bolt"
)

// ReadJournal reads entries from a URL or a file.
func ReadJournal(ctx context.Context, from string, q journal.Query) ([]journal.Entry, error) {
	if strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") {
		ctx, cancel := context.WithTimeout(ctx, answersWithin)
		defer cancel()
		return journalAt(ctx, strings.TrimSuffix(from, "/")+"/journal", os.Getenv(tokenVariable), q)
	}
	return journalFile(from, q)
}

// tokenVariable is the environment variable with the bearer token for a page that is named by its URL. A flag would show it to all of the machine.
const tokenVariable = "TRUCE_PAGE_TOKEN"

// UnreadError says which controllers' journals could not be read, beside what was read of others.
type UnreadError struct{ Causes []error }

// Error joins the causes.
func (e *UnreadError) Error() string { return errors.Join(e.Causes...).Error() }

// Unwrap returns the causes.
func (e *UnreadError) Unwrap() []error { return e.Causes }

// answersWithin is how long a controller may take to answer.
const answersWithin = 30 * time.Second

// Journal asks the cluster's controller: one in a pod through the API server, one on this machine itself. Of an empty namespace all are asked, and an
// UnreadError is returned beside what was read where some do not answer. Each is believed about the apps that it is the controller of.
func (c *Cluster) Journal(ctx context.Context, q journal.Query) ([]journal.Entry, error) {
	all, err := instance.WorkingFor(ctx, c.cluster, q.App.Namespace)
	if err != nil {
		return nil, err
	}
	if q.App.Namespace == "" {
		return journalOfAll(ctx, all, q)
	}
	var failed error
	for _, i := range believed(all, q.App.Namespace) {
		entries, err := journalInTime(ctx, i, q)
		if err == nil {
			return entries, nil
		}
		if failed == nil && !errors.Is(err, instance.ErrNoPage) {
			failed = err
		}
	}
	if failed != nil {
		return nil, failed
	}
	return nil, errNoJournal()
}

// believed returns those of the instances that are believed about a namespace, for "" about any.
func believed(all []instance.Instance, namespace string) []instance.Instance {
	return slices.DeleteFunc(slices.Clone(all), func(i instance.Instance) bool { return !i.IsBelieved(namespace, all) })
}

func errNoJournal() error {
	return fmt.Errorf("journal: %w, or you may not read that (ConfigMap %s): name it by --from", instance.ErrNoPage, instance.ConfigMap)
}

// journalOfAll merges the journals of all instances, each as far as it is believed.
func journalOfAll(ctx context.Context, all []instance.Instance, q journal.Query) ([]journal.Entry, error) {
	var out []journal.Entry
	var unread UnreadError
	read := false
	for _, i := range believed(all, "") {
		entries, err := journalInTime(ctx, i, q)
		switch {
		case errors.Is(err, instance.ErrNoPage):
			continue
		case err != nil:
			unread.Causes = append(unread.Causes, fmt.Errorf("%w (%s)", err, i))
			continue
		}
		read = true
		out = append(out, slices.DeleteFunc(entries, func(e journal.Entry) bool {
			return e.App.Namespace == "" || !i.IsBelieved(e.App.Namespace, all)
		})...)
	}
	slices.SortStableFunc(out, func(a, b journal.Entry) int { return a.At.Compare(b.At) })
	switch {
	case !read && len(unread.Causes) > 0:
		return nil, errors.Join(unread.Causes...)
	case !read:
		return nil, errNoJournal()
	case len(unread.Causes) > 0:
		return out, &unread
	}
	return out, nil
}

// journalInTime reads the journal of an instance: one that does not answer ends no command, and keeps nothing from others.
func journalInTime(ctx context.Context, i instance.Instance, q journal.Query) ([]journal.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	return journalOf(ctx, i, q)
}

// journalOf reads the journal of an instance.
func journalOf(ctx context.Context, i instance.Instance, q journal.Query) ([]journal.Entry, error) {
	page, stop, err := i.OpenPage(ctx)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer stop()
	token, err := i.PageToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	entries, err := journalAt(ctx, page+"/journal", token, q)
	return slices.DeleteFunc(entries, func(e journal.Entry) bool { return !q.Matches(e) }), err // it may answer with what it is not asked for
}

func journalFile(path string, q journal.Query) ([]journal.Entry, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, &exit.Error{Code: exit.Usage, Err: fmt.Errorf("journal: %w", err)}
	}
	var out []journal.Entry
	err := bolt.ReadFile(path, q, func(e journal.Entry) bool { out = append(out, e); return true })
	if errors.Is(err, boltfile.ErrInUse) {
		err = fmt.Errorf("%w: ask that controller, by --from with the URL of its status page", err)
	}
	return out, err
}

func journalAt(ctx context.Context, address, token string, q journal.Query) ([]journal.Entry, error) {
	v := url.Values{}
	for name, t := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !t.IsZero() {
			v.Set(name, t.UTC().Format(time.RFC3339))
		}
	}
	for name, s := range map[string]string{"kind": q.App.Kind, "namespace": q.App.Namespace, "name": q.App.Name} {
		if s != "" {
			v.Set(name, s)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+v.Encode(), nil)
	if err != nil {
		return nil, &exit.Error{Code: exit.Usage, Err: fmt.Errorf("journal: %w", err)}
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it has been read to its end, or is given up
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 1024)) // what it says is only added
		return nil, fmt.Errorf("journal: %s: %s %s", address, answer.Status, strings.TrimSpace(string(said)))
	}
	return entriesFrom(answer.Body)
}

// entriesFrom reads a JSON object a line.
func entriesFrom(r io.Reader) ([]journal.Entry, error) {
	var out []journal.Entry
	d := json.NewDecoder(bufio.NewReader(r))
	for {
		var e journal.Entry
		err := d.Decode(&e)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		out = append(out, e)
	}
}

// journalWindow is how far back a journal is read for the writers of what is live.
const journalWindow = 24 * time.Hour

// pastOf is what the cluster's controller has noted of an app; nothing where none says where it can be asked.
func (c *Cluster) pastOf(ctx context.Context, key app.Key) ([]journal.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, journalWithin)
	defer cancel()
	all, err := c.Journal(ctx, journal.Query{Since: time.Now().Add(-journalWindow), App: key})
	if errors.Is(err, instance.ErrNoPage) {
		return nil, nil
	}
	return all, err
}
