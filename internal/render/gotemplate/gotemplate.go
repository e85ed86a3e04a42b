// Package gotemplate answers: what does a Go template make of values?
//
// In: a text, options as Go's templates have them, and values.
// Out: a text.
// Promise: pure; the functions are those of Sprig and Argo CD whose answers are the same everywhere; time and memory are bounded, whatever the template
// does: each function is given a bounded amount, each turn of a loop counts, a time is written by a short layout,
// and no template calls another.
// Not here: which texts are templates (lint/discover/appset, notify/subscription).
package gotemplate

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"
)

// Set runs templates, which share the amount that they may do. It is for one goroutine.
type Set struct {
	fuel   *fuel
	base   *template.Template
	parsed map[string]*template.Template // by text and options
}

// NewSet returns a Set.
func NewSet() *Set {
	s := &Set{fuel: &fuel{left: maxFuel}, parsed: map[string]*template.Template{}}
	s.base = template.New("").Funcs(s.fuel.functions())
	return s
}

// Execute runs a template, which may change the data.
func (s *Set) Execute(text string, options []string, data any) (string, error) {
	t, err := s.parse(text, options)
	if err != nil {
		return "", err
	}
	b := &bounded{left: maxText}
	if err := t.Execute(b, data); err != nil {
		return "", err
	}
	return b.String(), nil
}

// Bounded returns a function for the data of templates, which is given a bounded amount.
func (s *Set) Bounded(function any) any { return s.fuel.bounded(function, maxGiven) }

// nested finds templates in templates, which can call themselves without end.
var nested = regexp.MustCompile(`\{\{(- )?\s*(template|block|define)\b`)

func (s *Set) parse(text string, options []string) (*template.Template, error) {
	key := strings.Join(options, " ") + "\n" + text
	if t, there := s.parsed[key]; there {
		return t, nil
	}
	if nested.MatchString(text) {
		return nil, errors.New("define, template and block are not followed")
	}
	t, err := s.base.Clone()
	if err != nil {
		return nil, err
	}
	for _, o := range options {
		if o != "missingkey=error" && o != "missingkey=zero" && o != "missingkey=default" && o != "missingkey=invalid" {
			return nil, fmt.Errorf("%q is no option of a template", o)
		}
		t = t.Option(o)
	}
	if t, err = t.Parse(text); err != nil {
		return nil, err
	}
	step, err := s.base.Clone()
	if err == nil {
		step, err = step.Parse("{{" + stepName + "}}")
	}
	if err != nil {
		return nil, err
	}
	if t.Tree != nil {
		if err := checkLayouts(t.Root); err != nil {
			return nil, err
		}
		counted(t.Root, step.Root.Nodes[0])
	}
	s.parsed[key] = t
	return t, nil
}

// counted puts a step at the begin of each loop: range takes any number.
func counted(n parse.Node, step parse.Node) {
	branch := func(b *parse.BranchNode) {
		counted(b.List, step)
		if b.ElseList != nil {
			counted(b.ElseList, step)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, one := range n.Nodes {
			counted(one, step)
		}
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
		n.List.Nodes = append([]parse.Node{step}, n.List.Nodes...)
	}
}

// bounded is a text that does not grow without end.
type bounded struct {
	strings.Builder
	left int
}

// Write adds to the text.
func (b *bounded) Write(data []byte) (int, error) {
	if b.left -= len(data); b.left < 0 {
		return 0, errTooLong
	}
	return b.Builder.Write(data)
}

var _ io.Writer = (*bounded)(nil)
