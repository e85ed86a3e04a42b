package flux

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/recipe"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestArtifactGeneratorsSayWhatIsMade(t *testing.T) {
	golden.Run(t, "testdata/artifactgenerator/*.txtar", func(t *testing.T, in golden.Files) string {
		cr := given.Object(t, in.Need(t, "cr.yaml"))
		s := ArtifactGenerators{}.Source(cr)
		var out strings.Builder
		fmt.Fprintf(&out, "%s every %s, suspended %v, other %q, request %q\n", s.Key, s.Interval, s.Suspended, s.Other, s.Request)
		for _, i := range s.Recipe.Sources {
			fmt.Fprintf(&out, "@%s is %s\n", i.Alias, i.From)
		}
		if p := s.Recipe.Pattern; p != (recipe.Pattern{}) {
			fmt.Fprintf(&out, "for each directory %s of @%s\n", p.Path, p.Alias)
		}
		for _, o := range s.Recipe.Outputs {
			fmt.Fprintf(&out, "%s: revision of %q, origin of %q\n", o.Name, o.Revision, o.Origin)
			if o.Inputs != (recipe.File{}) {
				fmt.Fprintf(&out, "  with the inputs @%s/%s\n", o.Inputs.Alias, o.Inputs.Path)
			}
			for _, op := range o.Copies {
				fmt.Fprintf(&out, "  %s @%s/%s to /%s without %q%s\n", op.Strategy, op.Alias, op.From, op.To, op.Exclude, map[bool]string{true: ", if it is there"}[op.Optional])
			}
		}
		if len(s.Problems) > 0 {
			fmt.Fprintf(&out, "problems: %s\n", strings.ReplaceAll(sentences(s.Problems), "; ", "\n  "))
			return out.String()
		}
		made := ArtifactGenerators{}.MadeArtifact(cr, *s.Recipe, recipe.Made{Name: "made", Labels: map[string]string{"app": "web"}})
		return out.String() + text(t, made)
	})
}

func TestGeneratedArtifactsBecomeStatus(t *testing.T) {
	golden.Run(t, "testdata/artifactgeneratorstatus/*.txtar", func(t *testing.T, in golden.Files) string {
		cr, state := given.Object(t, in.Need(t, "cr.yaml")), generatedState(t, in.Need(t, "state.yaml"))
		first := ArtifactGenerators{}.Status(cr, state)
		cr["status"] = object.CloneValue(first)
		state.At = state.At.Add(time.Hour)
		if diff := cmp.Diff(first, ArtifactGenerators{}.Status(cr, state)); diff != "" {
			t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
		}
		return text(t, first)
	})
}

func generatedState(t *testing.T, data string) dialect.SourceState {
	t.Helper()
	var in struct {
		Generation             int64
		Request, Reason, Error string
		Sources                map[string]source.Artifact
		Made                   []recipe.Made
		At                     time.Time
	}
	if err := yaml.UnmarshalStrict([]byte(data), &in); err != nil {
		t.Fatal(err)
	}
	s := dialect.SourceState{Generation: in.Generation, Request: in.Request, At: in.At, Generated: recipe.Result{Made: in.Made, Sources: in.Sources}}
	if in.Error != "" {
		s.Err = &source.Error{Op: "generate", Subject: "ArtifactGenerator apps/web", Reason: source.Reason(in.Reason), Err: errors.New(in.Error)}
	}
	return s
}

func TestAnExternalArtifactThatTruceMakesHasAStatus(t *testing.T) {
	cr := given.Object(t, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: ExternalArtifact
metadata: {name: web, namespace: apps, generation: 1, labels: {source.extensions.fluxcd.io/generator: u}}
spec: {sourceRef: {apiVersion: source.extensions.fluxcd.io/v1beta1, kind: ArtifactGenerator, name: gen, namespace: apps}}
`)
	if s := (ExternalArtifacts{}).Source(cr); s.Maker.String() != "ArtifactGenerator apps/gen" || s.MakerUID != "u" {
		t.Errorf("it is made by %s with the uid %q", s.Maker, s.MakerUID)
	}
	state := dialect.SourceState{Generation: 1, Made: true, Artifact: source.Artifact{Revision: "latest@sha256:0", Digest: "sha256:0"}, Inputs: `{"replicas":2}`, At: time.Unix(1, 0)}
	status := ExternalArtifacts{}.Status(cr, state)
	made, _ := status["artifact"].(map[string]any)
	if made["revision"] != "latest@sha256:0" || made["digest"] != "sha256:0" || made["url"] != "" || firstCondition(status)["status"] != "True" {
		t.Errorf("the status is %v", status)
	}
	if diff := cmp.Diff(map[string]any{"replicas": int64(2)}, status["exportedInputs"]); diff != "" {
		t.Errorf("the inputs (-want +got):\n%s", diff)
	}
	state.Err = errors.New("it is made no more")
	if ready := firstCondition(ExternalArtifacts{}.Status(cr, state)); ready["status"] != "False" || ready["message"] != "it is made no more" {
		t.Errorf("the condition is %v", ready)
	}
	spec, _ := cr["spec"].(map[string]any)
	ref, _ := spec["sourceRef"].(map[string]any)
	ref["namespace"] = "elsewhere"
	if s := (ExternalArtifacts{}).Source(cr); s.MakerUID != "" {
		t.Errorf("it is made by %s, of another namespace", s.Maker)
	}
}

func FuzzArtifactGeneratorNeverPanics(f *testing.F) {
	seeds(f, "testdata/artifactgenerator/*.txtar")
	seeds(f, "testdata/artifactgeneratorstatus/*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		cr, err := given.ParseObject(string(data))
		if err != nil {
			return
		}
		s := ArtifactGenerators{}.Source(cr)
		if s.Interval < time.Second || s.Recipe == nil {
			t.Errorf("%s every %v has the recipe %v", s.Key, s.Interval, s.Recipe)
		}
		if len(s.Problems) == 0 && (len(s.Recipe.Sources) == 0 || len(s.Recipe.Outputs) == 0) {
			t.Errorf("%s is taken, and makes nothing", s.Key)
		}
		stable(t, ArtifactGenerators{}.Status(cr, dialect.SourceState{At: time.Unix(1, 0)}))
	})
}
