package web

import (
	"fmt"
	"net/url"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
)

// listPage is the list of apps.
type listPage struct {
	Apps     []listRow
	Total    string
	Note     string    // why not all apps may be in it; empty where all are
	Flapping []flapRow // within the last hour
}

type listRow struct {
	Link, Namespace, Kind, Name string
	Sync, SyncText, Health      string // Sync is the class, SyncText what people read
	Revision                    string // the newest that was applied; empty for none
	Objects                     int
	Fields                      string // what differs, in a few words
	Message, Outcome            string // Outcome is the class of the message
}

// newListPage is the list of the apps that are known. Unready is why there may be others; empty where there are none.
func newListPage(reports []report.Report, unready string) listPage {
	p := listPage{Note: unready}
	synced := 0
	for _, r := range reports {
		s := r.State()
		if s.Sync == report.Synced {
			synced++
		}
		p.Apps = append(p.Apps, newListRow(r, s))
	}
	switch n := len(reports); {
	case n > 0 && unready == "":
		p.Total = fmt.Sprintf("%d of %d apps as Git wants them", synced, n)
	case n > 0:
		p.Total = fmt.Sprintf("%d of %d known apps as Git wants them", synced, n)
	case unready == "":
		p.Total = "no apps"
	default:
		p.Total = "no apps are known"
	}
	return p
}

func newListRow(r report.Report, s report.State) listRow {
	return listRow{
		Link: appLink(r.App), Namespace: r.App.Namespace, Kind: r.App.Kind, Name: r.App.Name,
		Sync: string(s.Sync), SyncText: s.SyncText(), Health: string(s.Health.Code), Revision: explain.ShortRevision(r.Applied),
		Objects: len(r.Objects), Fields: inWords(r), Message: s.Why(), Outcome: outcome(s),
	}
}

func appLink(k app.Key) string {
	return "/apps/" + url.PathEscape(k.Kind) + "/" + url.PathEscape(k.Namespace) + "/" + url.PathEscape(k.Name)
}

// inWords counts the fields that are not as Git names them: "2 ceded, 1 held".
func inWords(r report.Report) string {
	words := []struct {
		verdict decide.Verdict
		word    string
	}{{decide.Correct, "being corrected"}, {decide.Cede, "ceded"}, {decide.Hold, "held"}, {decide.Contested, "contested"}, {decide.Reclaim, "being reclaimed"}}
	out := ""
	for _, w := range words {
		if n := r.Count(w.verdict); n > 0 {
			if out != "" {
				out += ", "
			}
			out += fmt.Sprintf("%d %s", n, w.word)
		}
	}
	if n := r.Reported(); n > 0 {
		if out != "" {
			out += ", "
		}
		out += fmt.Sprintf("%d reported", n)
	}
	return out
}
