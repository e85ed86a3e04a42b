package flux

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	swapi "github.com/fluxcd/source-watcher/api/v2/v1beta1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/recipe"
)

// ArtifactGenerators translates ArtifactGenerator of Flux's source-watcher. Its zero value is ready.
type ArtifactGenerators struct{}

var _ dialect.Sources = ArtifactGenerators{}

const (
	generatorAPI      = "source.extensions.fluxcd.io/v1beta1"
	artifactGenerator = swapi.ArtifactGeneratorKind
	// generatorInterval is the time between two looks, which cost no request. New artifacts of its sources are events.
	generatorInterval = time.Hour
	modeAnnotation    = "truce.dev/mode"
	modeEnforce       = "enforce"
)

// watchers are the field managers of the statuses that Flux's source-watcher writes.
var watchers = []string{"source-watcher", "gotk-source-watcher"}

// Source reads an ArtifactGenerator.
func (ArtifactGenerators) Source(cr object.Object) dialect.Source {
	r := &reading{}
	r.Kind(cr, generatorAPI, artifactGenerator)
	s := newSource(artifactGenerator, cr)
	s.Interval, s.Timeout = r.generatorEvery(cr), source.DefaultTimeout
	s.Recipe = r.recipe(cr)
	disabled, _ := cr.Annotation(swapi.ReconcileAnnotation)
	s.Suspended = strings.EqualFold(disabled, swapi.DisabledValue)
	s.Other, s.Finalizer = otherWatcher(cr), swapi.Finalizer
	s.Problems, s.Notes = r.Problems, r.Notes
	return s
}

// generatorEvery is the time between two looks.
func (r *reading) generatorEvery(cr object.Object) time.Duration {
	text, ok := cr.Annotation(everyAnnotation)
	if !ok {
		return generatorInterval
	}
	every, err := time.ParseDuration(text)
	if err != nil || every <= 0 {
		r.Note("annotation %s has no effect: want a duration above 0, such as 10m, not %.100q", everyAnnotation, text)
		return generatorInterval
	}
	return r.period("annotation "+everyAnnotation, every)
}

// otherWatcher is the controller whose status an ArtifactGenerator has, unless its annotation says that truce works on it.
func otherWatcher(cr object.Object) string {
	if mode, _ := cr.Annotation(modeAnnotation); mode == modeEnforce {
		return ""
	}
	list, _ := cr.At("metadata", "managedFields").([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		if by, _ := m["manager"].(string); m["subresource"] == "status" && slices.Contains(watchers, by) {
			return by
		}
	}
	return ""
}

// recipe reads the spec.
func (r *reading) recipe(cr object.Object) *recipe.Recipe {
	var spec generatorSpec
	fields := r.spec(cr, &spec, nil)
	r.required(fields, "sources", "the sources whose files are copied")
	r.required(fields, "artifacts", "the ExternalArtifacts to make")
	g := generating{reading: r, known: map[string]bool{}, made: &recipe.Recipe{}}
	g.sources(cr.Namespace(), spec.Sources)
	g.pattern(spec.PathPattern)
	g.artifacts(cr.Namespace(), spec.OutputArtifacts)
	if spec.ServiceAccountName != "" {
		r.Unsupported("spec.serviceAccountName", noServiceAccount)
	}
	if spec.ManagedNamespaces != nil {
		r.Unsupported("spec.managedNamespaces", noManaged)
	}
	if m := spec.CommonMetadata; m != nil {
		g.made.Labels, g.made.Annotations = m.Labels, m.Annotations
		g.metadata("spec.commonMetadata.labels", m.Labels)
		g.metadata("spec.commonMetadata.annotations", m.Annotations)
		for key, value := range m.Labels {
			if why := content.IsLabelValue(value); len(why) > 0 {
				r.Problem("spec.commonMetadata.labels", "%s: %.100q is no value of a label", key, value)
			}
		}
	}
	return g.made
}

// generating is the spec of an ArtifactGenerator while it is read.
type generating struct {
	*reading
	known map[string]bool // aliases
	names []string        // of the pattern
	made  *recipe.Recipe
}

const (
	mostItems   = 1000 // of Flux's schema
	mostExclude = 100
)

var aliasForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`)

// sourceKinds are the kinds of which files are copied.
var sourceKinds = []string{gitRepository, ociRepository, bucket, helmChart, externalArtifact}

func (g *generating) sources(home string, list []swapi.SourceReference) {
	if len(list) == 0 || len(list) > mostItems {
		g.Problem("spec.sources", "want 1 to %d sources", mostItems)
		return
	}
	for i, s := range list {
		field := fmt.Sprintf("spec.sources[%d]", i)
		switch {
		case len(s.Alias) > validation.DNS1123LabelMaxLength || !aliasForm.MatchString(s.Alias):
			g.Problem(field+".alias", "want lower case letters, digits, - and _, not %.100q", s.Alias)
		case g.known[s.Alias]:
			g.Problem(field+".alias", "duplicate source alias '%s' found", s.Alias)
		}
		g.known[s.Alias] = true
		if !slices.Contains(sourceKinds, s.Kind) {
			g.Problem(field+".kind", "want %s, not %.100q", strings.Join(sourceKinds, ", "), s.Kind)
		}
		if len(validation.IsDNS1123Subdomain(s.Name)) > 0 {
			g.Problem(field+".name", "want the name of a %s, not %.300q", s.Kind, s.Name)
		}
		key := app.SourceKey{Kind: s.Kind, Namespace: home, Name: s.Name}
		if s.Namespace != "" {
			key.Namespace = g.Namespace(field+".namespace", s.Namespace)
		}
		g.made.Sources = append(g.made.Sources, recipe.Input{Alias: s.Alias, From: key})
	}
}

// alias reads @alias; "" for none.
func (g *generating) alias(field, text string) string {
	alias, ok := strings.CutPrefix(text, "@")
	switch {
	case text == "":
		return ""
	case !ok:
		g.Problem(field, "want @ and the alias of a source, not %.100q", text)
	case !g.known[alias]:
		g.Problem(field, "source alias '%.100s' not found", alias)
	}
	return alias
}

// path reads @alias/path.
func (g *generating) path(field, text string) (alias, path string) {
	first, path, ok := strings.Cut(text, "/")
	if !ok || len(text) > 1024 || strings.ContainsRune(text, 0) {
		g.Problem(field, "want @alias/path with 1024 bytes at the most, not %.100q", text)
		return "", ""
	}
	return g.alias(field, first), path
}

func (g *generating) pattern(text string) {
	if text == "" {
		return
	}
	alias, path := g.path("spec.pathPattern", text)
	g.made.Pattern = recipe.Pattern{Alias: alias, Path: path}
	steps, err := g.made.Pattern.Steps()
	if err != nil {
		g.Problem("spec.pathPattern", "%s", strings.TrimPrefix(err.Error(), "pathPattern: "))
		return
	}
	g.names = steps.Names()
}

func (g *generating) artifacts(home string, list []generatorOutput) {
	if len(list) == 0 || len(list) > mostItems {
		g.Problem("spec.artifacts", "want 1 to %d artifacts", mostItems)
		return
	}
	seen := map[string]bool{}
	for i, a := range list {
		field := fmt.Sprintf("spec.artifacts[%d]", i)
		if seen[a.Name] {
			g.Problem(field+".name", "duplicate artifact name '%.300s' found", a.Name)
		}
		seen[a.Name] = true
		g.filled(field+".name", a.Name)
		if g.made.Pattern == (recipe.Pattern{}) && len(validation.IsDNS1123Subdomain(a.Name)) > 0 {
			g.Problem(field+".name", "want the name of an ExternalArtifact, not %.300q", a.Name)
		}
		out := recipe.Output{Name: a.Name, Revision: g.alias(field+".revision", a.Revision), Origin: g.alias(field+".originRevision", a.OriginRevision)}
		if a.Namespace != "" && a.Namespace != home {
			g.Unsupported(field+".namespace", fmt.Sprintf(noNamespace, home, a.Namespace))
		}
		g.inputs(field+".inputsFrom", a.InputsFrom, &out)
		if len(a.Copy) == 0 {
			g.Problem(field+".copy", "required: what to copy")
		}
		for j, op := range a.Copy {
			out.Copies = append(out.Copies, g.copy(fmt.Sprintf("%s.copy[%d]", field, j), op))
		}
		g.made.Outputs = append(g.made.Outputs, out)
	}
}

// inputs reads @alias/path of a file, where @artifact is the artifact itself.
func (g *generating) inputs(field, text string, into *recipe.Output) {
	if text == "" {
		return
	}
	if own, ok := strings.CutPrefix(text, "@artifact/"); ok {
		into.Inputs = recipe.File{Path: own}
	} else {
		into.Inputs.Alias, into.Inputs.Path = g.path(field, text)
	}
	if into.Inputs.Path == "" && !g.HasProblem(field) {
		g.Problem(field, "want @alias/path of a YAML file, not %.100q", text)
	}
	g.filled(field, text)
}

func (g *generating) copy(field string, op generatorCopy) recipe.Copy {
	out := recipe.Copy{Exclude: op.Exclude, Strategy: recipe.Overwrite, Optional: op.Optional}
	out.Alias, out.From = g.path(field+".from", op.From)
	g.filled(field+".from", op.From)
	to, ok := strings.CutPrefix(op.To, "@artifact/")
	if !ok || len(op.To) > 1024 || slices.Contains(strings.Split(to, "/"), "..") {
		g.Problem(field+".to", "want @artifact/ and a path in it, not %.100q", op.To)
	}
	out.To = to
	g.filled(field+".to", op.To)
	if len(op.Exclude) > mostExclude {
		g.Problem(field+".exclude", "want %d patterns at the most", mostExclude)
	}
	switch op.Strategy {
	case "":
	case swapi.OverwriteStrategy, swapi.MergeStrategy, swapi.ExtractStrategy:
		out.Strategy = recipe.Strategy(op.Strategy)
	default:
		g.Problem(field+".strategy", "want Overwrite, Merge or Extract, not %.100q", op.Strategy)
	}
	return out
}

// filled makes sure that each {name} in a field is one of the pattern.
func (g *generating) filled(field, text string) {
	if g.made.Pattern == (recipe.Pattern{}) {
		return
	}
	values := map[string]string{}
	for _, name := range g.names {
		values[name] = name
	}
	if _, err := recipe.FillNames(text, values); err != nil && !g.HasProblem("spec.pathPattern") {
		g.Problem(field, "%s", err.Error())
	}
}

// metadata checks the keys of labels or annotations.
func (g *generating) metadata(field string, pairs map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		if len(content.IsLabelKey(strings.ToLower(key))) > 0 {
			g.Problem(field, "%.100q is no key of a label or annotation", key)
		}
	}
}

// Spec says that nothing is fetched by the ArtifactGenerator itself: its sources are.
func (ArtifactGenerators) Spec(cr object.Object, _ source.Secrets) (source.Spec, error) {
	s := ArtifactGenerators{}.Source(cr)
	if len(s.Problems) > 0 {
		return source.Spec{}, refusedSource(s.Key, source.NotSupported, sentences(s.Problems))
	}
	return source.Spec{}, refusedSource(s.Key, source.NotSupported, "it is made of its sources")
}
