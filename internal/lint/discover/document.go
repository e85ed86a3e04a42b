package discover

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/yamltext"
	"github.com/truce-gitops/truce/internal/render"
)

// document is an object as it is written in a file, or as a unit describes it.
type document struct {
	file   string
	line   int
	object object.Object
	made   *Made // by the custom resource that stands there; nil where it is the object
}

// scannedFile is a file of the tree as it was read. A page without documents holds nothing that asks for anything, or was not understood.
type scannedFile struct {
	documents []document // custom resources that ask for something
	objects   bool       // it speaks of Kubernetes objects
	broken    *Skipped
}

// asking are the texts of which each file that asks for something holds one.
var asking = [][]byte{[]byte("toolkit.fluxcd.io"), []byte("argoproj.io")}

// read reads the files of the tree concurrently.
func (t *finder) read(ctx context.Context) error {
	var names []string
	for _, d := range t.scan.dirs {
		names = append(names, d.manifests...)
	}
	pages := make([]scannedFile, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, t.Workers))
	for i, name := range names {
		group.Go(func() error {
			pages[i] = t.scanFile(name)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, name := range names {
		t.pages[name] = pages[i]
	}
	return nil
}

func (t *finder) scanFile(name string) scannedFile {
	data, err := render.ReadFile(t.files, name, render.Limits{}.OrDefault().FileBytes)
	if err != nil {
		return scannedFile{broken: &Skipped{File: name, What: fileWhat, Broken: !isJSONFile(name), Why: plainly(err).Error()}}
	}
	text, err := yamltext.ManifestText(data)
	if err != nil {
		return scannedFile{broken: &Skipped{File: name, What: fileWhat, Broken: !isJSONFile(name), Why: err.Error()}}
	}
	data = text
	p := scannedFile{objects: ofObjects(data)}
	if !p.objects || !mayAskForApp(data) {
		return p
	}
	nodes, err := render.ParseNodes(name, data)
	if err != nil {
		return scannedFile{objects: true, broken: unreadable(name, data, err)}
	}
	for _, n := range nodes {
		all, err := t.document(name, n)
		if err != nil {
			p.broken = unreadable(name, data, err)
		}
		p.documents = append(p.documents, all...)
	}
	return p
}

func mayAskForApp(data []byte) bool {
	return slices.ContainsFunc(asking, func(text []byte) bool { return bytes.Contains(data, text) })
}

// document decodes a document, if it is one that asks for something, or those of a list that do.
func (t *finder) document(name string, n *yaml.Node) ([]document, error) {
	kind, version := render.FieldNode(n, "kind"), render.FieldNode(n, "apiVersion")
	if kind == nil || version == nil {
		return nil, nil
	}
	if render.FieldNode(n, "items") != nil && strings.HasSuffix(kind.Value, "List") {
		all, err := render.Document(name, n)
		var out []document
		for _, o := range all {
			if t.asked(o.Data.GVK()) {
				out = append(out, document{file: name, line: o.Line, object: o.Data})
			}
		}
		return out, err
	}
	if !t.asked(object.Object{"apiVersion": version.Value, "kind": kind.Value}.GVK()) {
		return nil, nil
	}
	v, err := render.DecodeValue(name, n)
	if err != nil {
		return nil, err
	}
	m, _ := v.(map[string]any)
	return []document{{file: name, line: n.Line, object: m}}, nil
}

// asked reports whether a kind is one that asks for something, or says where it is read.
func (t *finder) asked(gvk object.GVK) bool {
	_, known := t.kind(gvk)
	return known || isRepository(gvk)
}

func isJSONFile(name string) bool { return strings.EqualFold(path.Ext(name), ".json") }

// unreadable says what is wrong with a file that no app names; nothing where another program fills it in first.
func unreadable(file string, data []byte, err error) *Skipped {
	s := brokenFile(file, err)
	if !errors.Is(err, render.ErrLimit) && isTemplate(data) {
		s.Broken, s.Reason = false, "it is a template that another program fills in"
		s.Why = s.Reason + ": " + s.Why
	}
	return s
}

// brokenFile says what is wrong with a file, at its place.
func brokenFile(file string, err error) *Skipped {
	s := &Skipped{File: file, What: fileWhat, Broken: true, Why: err.Error()}
	var at *render.Error
	if !errors.As(err, &at) {
		return s
	}
	s.Line, s.Why = at.Line, at.Err.Error()
	if at.File != "" {
		s.File = at.File
	}
	// A worker's message is the whole sentence.
	if _, rest, ok := strings.Cut(s.Why, (&render.Error{File: at.File, Line: at.Line, Err: errors.New("")}).Error()); ok {
		s.Why = rest
	}
	return s
}
