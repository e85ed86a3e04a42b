package app

import "testing"

func TestPartsAreOneSource(t *testing.T) {
	parts := []Part{{Source: SourceKey{Kind: "Repository", Namespace: "ns", Name: "a", Revision: "main"}, Dir: "sources.0", Path: "sources.0/x", Namespace: "other"}, {Source: SourceKey{Kind: "Repository", Namespace: "ns", Name: "b"}, Dir: "sources.1"}}
	a := App{Key: Key{Namespace: "ns", Name: "web"}}.WithParts(parts)
	if !a.Source.IsJoined() || a.Source.IsOwn() || a.Source.String() != "the sources of ns/web" {
		t.Errorf("source %q of %+v", a.Source, a.Source)
	}
	if other := a.WithRevisions([]string{"", "v1"}); other.Source == a.Source || other.Parts[0].Source.Revision != "main" || other.Parts[1].Source.Revision != "v1" {
		t.Errorf("at another revision: %+v", other.Source)
	}
	if a.Parts[1].Source.Revision != "" || a.WithRevisions(nil).Source != a.Source {
		t.Error("asking for revisions has changed the app")
	}
	if !a.HasSource(parts[1].Source) || !a.HasSource(a.Source) || a.HasSource(SourceKey{Name: "b"}) {
		t.Error("HasSource is wrong")
	}
	if got := a.OfFile("sources.0/x/y.yaml"); got.Path != "sources.0/x" || got.Source != parts[0].Source || got.Namespace != "other" || got.Parts != nil {
		t.Errorf("of the first source: %+v", got)
	}
	if a.PartOf("sources.10/x") != -1 || a.OfFile("elsewhere").Source != a.Source {
		t.Error("a file of no source has one")
	}
}
