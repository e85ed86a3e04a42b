package overlay

import (
	"fmt"
	"strings"
	"testing"
)

const digest = "sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3"

func TestImagesAreReadAsKustomizeEditTakesThem(t *testing.T) {
	before := map[string]any{"name": "web", "newName": "old", "newTag": "1", "digest": digest}
	for text, want := range map[string]string{
		"web:2":                       "name:web newTag:2",
		"web@" + digest:               "digest:" + digest + " name:web",
		"web=new":                     "name:web newName:new",
		"web=new:2":                   "name:web newName:new newTag:2",
		"web=new:2@" + digest:         "digest:" + digest + " name:web newName:new newTag:2",
		"web=localhost:5000/new":      "name:web newName:localhost:5000/new",
		"web=localhost:5000/new:2":    "name:web newName:localhost:5000/new newTag:2",
		"web=*:2":                     "name:web newName:old newTag:2",
		"web=new:*":                   "name:web newName:new newTag:1",
		"web=*:*@*":                   "digest:" + digest + " name:web newName:old newTag:1",
		"localhost:5000/web:2":        "name:localhost:5000/web newTag:2",
		"":                            "error names no image",
		"web":                         "error want NAME:TAG, NAME@DIGEST or NAME=NEWNAME[:TAG][@DIGEST]",
		"localhost:5000/web":          "error want NAME:TAG, NAME@DIGEST or NAME=NEWNAME[:TAG][@DIGEST]",
		"=web:2":                      "error names no image",
		"web=":                        "error names no image",
		"*=new":                       "error names no image",
		"web:2 ":                      "error holds white space",
		"web:-":                       `error "-" is no tag`,
		"web@latest":                  `error "latest" is no digest`,
		"web=new:2@sha256:0123456789": `error "sha256:0123456789" is no digest`,
	} {
		m, err := ParseImage(text)
		got := fmt.Sprint("error ", err)
		if err == nil {
			entry := map[string]any{"name": m.Name}
			if m.Name == "web" {
				entry = before
			}
			got = strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(m.Over(entry)), "map["), "]")
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if len(before) != 4 || before["newTag"] != "1" {
		t.Errorf("the kustomization's entry was changed: %v", before)
	}
}

func TestReplicasAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"web=3": "{web 3} <nil>", "web=0": "{web 0} <nil>", "web": `{web 0} "" is no number of replicas`, "=3": "{ 0} want NAME=COUNT",
		"web=-1": `{web 0} "-1" is no number of replicas`, "web=3.5": `{web 0} "3.5" is no number of replicas`, "web=99999999999": `{web 0} "99999999999" is no number of replicas`,
	} {
		r, err := ParseReplica(text)
		if err != nil {
			r.Count = 0
		}
		if got := fmt.Sprint(r, " ", err); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestTheZeroOverlayAsksForNothing(t *testing.T) {
	if o := (Overlay{}); o.Builds() || len(o.Parts("")) > 0 {
		t.Errorf("the zero value asks for something: %v", o.Parts(""))
	}
	if o := (Overlay{Metadata: Metadata{Labels: map[string]string{"a": "b"}}}); o.Builds() {
		t.Error("metadata alone needs no build")
	}
}
