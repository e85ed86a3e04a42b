package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/truce-gitops/truce/internal/report/journal"
)

// journal answers with the entries that the query chooses, a JSON object a line. What goes wrong after the first line can only be
// said by breaking off: the connection is cut, and a client sees an unexpected end.
func (p *pages) journal(w http.ResponseWriter, r *http.Request) {
	if p.state.Journal == nil {
		writeText(w, http.StatusNotFound, "this controller keeps no journal")
		return
	}
	q, err := queryOf(r.URL.Query())
	if err != nil {
		writeText(w, http.StatusBadRequest, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	out := json.NewEncoder(w)
	err = p.state.Journal.Read(q, func(e journal.Entry) bool { return out.Encode(e) == nil && r.Context().Err() == nil })
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// queryOf reads ?since=&until= (RFC 3339), ?kind=&namespace=&name= of an app.
func queryOf(v url.Values) (journal.Query, error) {
	var q journal.Query
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		text := v.Get(name)
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return q, fmt.Errorf("%s: want a time such as 2026-01-02T15:04:05Z, not %q", name, text)
		}
		*at = t
	}
	q.App.Kind, q.App.Namespace, q.App.Name = v.Get("kind"), v.Get("namespace"), v.Get("name")
	return q, nil
}
