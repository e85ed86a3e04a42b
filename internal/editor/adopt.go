package editor

import (
	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/reader"
)

// Pass moves an app's objects to truce, or back; an empty way changes nothing.
func (e *Editor) Pass(way app.Way) {
	switch way {
	case "":
	case app.HandBack:
		e.Put(string(app.Release), "metadata", "annotations", reader.ModeKey)
		e.Drop("metadata", "annotations", reader.AdoptedKey)
	default:
		e.Put(string(app.Enforce), "metadata", "annotations", reader.ModeKey)
		e.Put(string(way), "metadata", "annotations", reader.AdoptedKey)
	}
}
