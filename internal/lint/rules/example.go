package rules

import (
	"embed"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// stories are the ones that the rules are tested by: a reader of a rule sees what is known to be true of it.
//
//go:embed testdata/*/bad.txtar testdata/*/good.txtar
var stories embed.FS

// Example is a small repository, and what its audit says.
type Example struct {
	Title string // a sentence
	Files []txtar.File
	Says  string
}

// Examples returns what a rule finds, and what it leaves alone. They are empty for a rule that there is not.
func Examples(rule string) (bad, good Example) {
	return example(rule, "bad.txtar"), example(rule, "good.txtar")
}

func example(rule, name string) Example {
	text, err := stories.ReadFile(path.Join("testdata", rule, name))
	if err != nil {
		return Example{}
	}
	a := txtar.Parse(text)
	e := Example{Title: strings.TrimSpace(string(a.Comment)), Files: a.Files}
	if i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" }); i >= 0 {
		e.Says = strings.TrimSpace(string(a.Files[i].Data))
		e.Files = slices.Delete(slices.Clone(a.Files), i, i+1)
	}
	return e
}
