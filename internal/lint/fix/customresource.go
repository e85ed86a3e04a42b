package fix

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/lint/yamledit"
	"github.com/truce-gitops/truce/internal/render"
)

// ignoreField adds the dialect's rule by which the field is left out of what is applied.
func (m *planner) ignoreField(ctx context.Context, f finding) (Fix, error) {
	u := m.Discovery.Units[f.at]
	pointer, ok := pointerTo(f.Path)
	if o, err := m.object(ctx, f); !ok || u.Dialect == discover.Bare || err != nil || isScaledToZero(f, o) {
		return Fix{}, errInapplicable
	}
	e := resourceEdit{planner: m, at: f.at, tree: m.tree.clone()}
	var err error
	needs := ""
	switch u.Dialect {
	case discover.Flux:
		needs = ", by spec.ignore, which Flux has from 2.9 on"
		target := yamledit.Map{{Key: "kind", Value: f.Object.Kind}, {Key: "name", Value: f.Object.Name}}
		err = e.add(yamledit.Map{{Key: "paths", Value: []any{pointer}}, {Key: "target", Value: target}}, "spec", "ignore")
	case discover.ArgoCD:
		rule := yamledit.Map{{Key: "group", Value: f.Object.Group}, {Key: "kind", Value: f.Object.Kind}, {Key: "name", Value: f.Object.Name}}
		if err = e.add(append(rule, yamledit.Entry{Key: "jsonPointers", Value: []any{pointer}}), "spec", "ignoreDifferences"); err == nil {
			err = e.respect()
		}
	default:
		return Fix{}, errInapplicable
	}
	if err == nil {
		err = e.accept(ctx, f)
	}
	if err != nil {
		return Fix{}, err
	}
	return Fix{Files: []string{u.File}, Why: f.Message, What: fmt.Sprintf("let %s leave %s of %s to others%s", u.Name(), fieldName(f.Path), f.Object, needs)}, nil
}

// respect adds the option without which Argo CD only hides what it ignores.
func (m *planner) respect(ctx context.Context, f finding) (Fix, error) {
	u := m.Discovery.Units[f.at]
	if u.Dialect != discover.ArgoCD {
		return Fix{}, errInapplicable
	}
	e := resourceEdit{planner: m, at: f.at, tree: m.tree.clone()}
	if _, err := m.meanwhile(ctx, f); errors.Is(err, errEnded) {
		return Fix{}, err
	}
	err := e.respect()
	if err == nil {
		err = e.accept(ctx, f)
	}
	if err != nil {
		return Fix{}, err
	}
	return Fix{Files: []string{u.File}, Why: f.Message, What: "let " + u.Name() + " respect what it ignores when it syncs"}, nil
}

// errEnded says that an edit which was made for another finding has ended this one.
var errEnded = errors.New("an edit for another finding ends it")

// endedMeanwhile reports whether what was accepted so far ends a finding.
func (m *planner) endedMeanwhile(ctx context.Context, f finding) (bool, error) {
	if len(m.tree.edits) == 0 {
		return false, nil
	}
	s, err := m.Again.Rediscover(ctx, m.tree)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(rules.CheckAll(s), func(g rules.Finding) bool { return findingEssence(g) == findingEssence(f.Finding) }), nil
}

// meanwhile is no cure, but finds that none is needed any more.
func (m *planner) meanwhile(ctx context.Context, f finding) (Fix, error) {
	ended, err := m.endedMeanwhile(ctx, f)
	switch {
	case err != nil:
		return Fix{}, err
	case ended:
		return Fix{}, errEnded
	}
	return Fix{}, errInapplicable
}

// pointed is the pointer that a remedy asks for.
var pointed = regexp.MustCompile(`jsonPointers: \[(/[^\],]+)\]`)

// point names the field in a rule that covers it by its manager alone.
func (m *planner) point(ctx context.Context, f finding) (Fix, error) {
	u := m.Discovery.Units[f.at]
	pointer := pointed.FindStringSubmatch(f.Remedy)
	data, err := render.ReadFile(m.Files, u.File, maxFile)
	if err != nil {
		return Fix{}, err
	}
	docs, err := render.ParseNodes(u.File, data)
	if err != nil {
		return Fix{}, err
	}
	i, way := findPlace(docs, f.Place)
	if pointer == nil || len(way) < 2 {
		return Fix{}, errInapplicable
	}
	rule := way[:len(way)-2]
	edit := yamledit.Edit{Document: i, Path: append(slices.Clone(rule), yamledit.KeyStep("jsonPointers")), Action: yamledit.Add, Value: []any{pointer[1]}}
	if render.FieldNode(nodeAtPath(docs[i], rule), "jsonPointers") != nil {
		edit.Action, edit.Value = yamledit.Append, pointer[1]
	}
	e := resourceEdit{planner: m, at: f.at, tree: m.tree.clone()}
	if data, err = m.tree.read(u.File); err == nil {
		data, err = yamledit.ApplyEdits(u.File, data, edit)
	}
	if err != nil {
		return Fix{}, err
	}
	e.tree.edits[u.File] = data
	if err = e.respect(); err == nil || errors.Is(err, errInapplicable) {
		err = e.accept(ctx, f)
	}
	if err != nil {
		return Fix{}, err
	}
	return Fix{Files: []string{u.File}, Why: f.Message, What: "name the field in the rule of " + u.Name() + " that ignores it by its manager"}, nil
}

// resourceEdit edits the custom resource of an app where it is written.
type resourceEdit struct {
	*planner
	at   int
	tree *tree
}

// respectOption is of spec.syncPolicy.syncOptions of an Application.
const respectOption = "RespectIgnoreDifferences=true"

func (e resourceEdit) respect() error {
	return e.add(respectOption, "spec", "syncPolicy", "syncOptions")
}

// add puts an item into a list of the resource, which is made if it is not there.
func (e resourceEdit) add(item any, way ...string) error {
	u := e.Discovery.Units[e.at]
	data, err := e.tree.read(u.File)
	if err != nil {
		return err
	}
	docs, err := render.ParseNodes(u.File, data)
	if err != nil {
		return err
	}
	i, at := writtenIn(docs, u)
	if at == nil {
		return fmt.Errorf("%s is not written so in %s", u.Name(), u.File)
	}
	edit := yamledit.Edit{Document: i, Action: yamledit.Append, Value: item, Path: append(at, yamledit.KeyPath(way...)...)}
	n := docs[i]
	for depth, key := range way {
		if n = render.FieldNode(nodeAtPath(docs[i], append(slices.Clone(at), yamledit.KeyPath(way[:depth]...)...)), key); n == nil {
			edit.Action, edit.Path, edit.Value = yamledit.Add, append(slices.Clone(at), yamledit.KeyPath(way[:depth+1]...)...), nestedMap(way[depth+1:], []any{item})
			break
		}
	}
	if n != nil && slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Value != "" && c.Value == item }) {
		return errInapplicable
	}
	if data, err = yamledit.ApplyEdits(u.File, data, edit); err == nil {
		e.tree.edits[u.File] = data
	}
	return err
}

func nestedMap(keys []string, v any) any {
	for _, k := range slices.Backward(keys) {
		v = yamledit.Map{{Key: k, Value: v}}
	}
	return v
}

// accept takes the edit over, if it changes nothing but the resource's spec, and ends the finding.
func (e resourceEdit) accept(ctx context.Context, f finding) error {
	after, err := e.Again.Rediscover(ctx, e.tree)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rules.CheckAll(after), func(g rules.Finding) bool { return findingEssence(g) == findingEssence(f.Finding) }) {
		return fmt.Errorf("the rule does not end it")
	}
	if err := e.planner.accept(ctx, e.tree, intent{in: -1, resource: e.at}); err != nil {
		return err
	}
	e.effects = append(e.effects, fixEffect{at: e.at, field: f.Rule + " " + fieldOf(f.Finding), cure: e.fixes})
	return nil
}

// writtenIn finds where an app's custom resource is written: its document, and the way to it in there.
func writtenIn(docs []*yaml.Node, u discover.Unit) (int, yamledit.Path) {
	for i, doc := range docs {
		if isResource(doc, u) {
			return i, yamledit.Path{}
		}
		items := render.FieldNode(doc, "items")
		if items == nil {
			continue
		}
		for j, item := range items.Content {
			if isResource(item, u) {
				return i, yamledit.Path{yamledit.KeyStep("items"), yamledit.ItemStep(j)}
			}
		}
	}
	return 0, nil
}

func isResource(n *yaml.Node, u discover.Unit) bool {
	kind, meta := render.FieldNode(n, "kind"), render.FieldNode(n, "metadata")
	written := render.FieldNode(meta, "name")
	if kind == nil || written == nil || kind.Value != u.App.Key.Kind || written.Value != u.App.Key.Name {
		return false
	}
	in := render.FieldNode(meta, "namespace")
	return in == nil || in.Value == u.App.Key.Namespace
}
