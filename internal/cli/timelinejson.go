package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// historyEntryJSON is one entry of `truce history`, with the names that the other commands use. The names of the journal itself (at,
// writer, place, app.Name, …) are those of earlier versions, and stay.
type historyEntryJSON struct {
	Metadata metadataJSON `json:"metadata"`
	App      entryAppJSON `json:"app"`
	Time     time.Time    `json:"time"`
	Object   *entryIDJSON `json:"object,omitempty"`
	SetBy    *writerJSON  `json:"setBy,omitempty"`
	Source   *placeJSON   `json:"source,omitempty"`
	journal.Entry
}

// entryAppJSON has each name twice.
type entryAppJSON struct {
	keyJSON
	app.Key
}

// entryIDJSON as well.
type entryIDJSON struct {
	idJSON
	object.ID
}

func newEntryListJSON(entries []journal.Entry) listJSON {
	items := make([]historyEntryJSON, 0, len(entries))
	for _, e := range entries {
		items = append(items, newHistoryEntryJSON(e))
	}
	return listJSON{APIVersion: schemaVersion, Kind: "HistoryEntryList", Items: items}
}

func newHistoryEntryJSON(e journal.Entry) historyEntryJSON {
	out := historyEntryJSON{
		Metadata: newMetadataJSON(e.App), App: entryAppJSON{keyJSON(e.App), e.App}, Time: e.At, Source: newEntryPlace(e.Place), Entry: e,
	}
	if e.Object != (object.ID{}) {
		out.Object = &entryIDJSON{idJSON(e.Object), e.Object}
	}
	if e.Writer != "" || e.User != "" {
		out.SetBy = newWriterJSON(ownership.Writer{
			Name: e.Writer, Manager: e.Manager, User: e.User, During: e.During, Person: e.Person, Time: e.Written, Before: e.Before, Often: e.Often,
			Evidence: ownership.Evidence(e.Evidence), Because: e.Because,
		})
	}
	return out
}

// newEntryPlace reads file:line, or the name of a field of the app.
func newEntryPlace(place string) *placeJSON {
	if place == "" {
		return nil
	}
	if at := strings.LastIndexByte(place, ':'); at > 0 {
		if line, err := strconv.Atoi(place[at+1:]); err == nil {
			return &placeJSON{File: place[:at], Line: line}
		}
	}
	return &placeJSON{Field: place}
}
