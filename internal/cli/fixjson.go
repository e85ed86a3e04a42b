package cli

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/truce-gitops/truce/internal/lint"
	"github.com/truce-gitops/truce/internal/lint/fix"
	"github.com/truce-gitops/truce/internal/lint/output"
)

// fixJSON is what fix finds to do, has done and leaves. Findings and what was skipped read as in audit -o json. It is stable: within its
// apiVersion names are only added.
type fixJSON struct {
	APIVersion string               `json:"apiVersion"`
	Kind       string               `json:"kind"`
	DryRun     bool                 `json:"dryRun"`           // nothing was written
	Commit     *commitJSON          `json:"commit,omitempty"` // that was made
	Changes    []changeJSON         `json:"changes"`          // in the order of their files
	Cures      []cureJSON           `json:"cures"`            // what the changes are made of
	Proposals  []proposalJSON       `json:"proposals"`        // what no edit was made for
	Skipped    []output.SkippedJSON `json:"skipped"`          // what was not looked into, and so neither judged nor fixed
}

type commitJSON struct {
	Hash    string `json:"hash"`
	Branch  string `json:"branch,omitempty"` // that was made for it
	Message string `json:"message"`
}

// changeJSON is the change of one file.
type changeJSON struct {
	File    string     `json:"file"`
	Deleted bool       `json:"deleted"`
	Rules   []string   `json:"rules"` // whose findings it ends, together with the other files of their cures
	Hunks   []hunkJSON `json:"hunks"`
	Patch   string     `json:"patch"` // as git apply takes it
}

// hunkJSON is lines in the place of others.
type hunkJSON struct {
	Line    int      `json:"line"` // of the file before, where Removed begins, or before which Added comes
	Removed []string `json:"removed"`
	Added   []string `json:"added"`
}

// cureJSON is an edit, and what it ends.
type cureJSON struct {
	What   string               `json:"what"`
	Why    string               `json:"why"`
	First  string               `json:"first,omitempty"` // to be done in the cluster before, where the object is there already and truce does not apply it
	Files  []string             `json:"files"`
	Ends   []output.FindingJSON `json:"ends"`
	Proven []proofJSON          `json:"proven"` // each app or root that reads one of the files was rendered before and after
}

// proofJSON is one that was rendered: in these objects the intended is changed, and nothing else in any.
type proofJSON struct {
	Unit    string              `json:"unit"`
	Objects []output.ObjectJSON `json:"objects"`
}

type proposalJSON struct {
	Finding output.FindingJSON `json:"finding"`
	Why     string             `json:"why"` // there is no edit
}

// sheet makes the form of what was found to be done. The hash is empty where no commit was made.
func (f *fixFlags) sheet(m *lint.Edits, hash string) fixJSON {
	out := fixJSON{
		APIVersion: schemaVersion, Kind: "Fix", DryRun: f.dryRun,
		Changes: []changeJSON{}, Cures: []cureJSON{}, Proposals: []proposalJSON{}, Skipped: []output.SkippedJSON{},
	}
	if hash != "" {
		out.Commit = &commitJSON{Hash: hash, Branch: f.branch, Message: m.Plan.Message()}
	}
	for _, c := range m.Plan.Changes {
		out.Changes = append(out.Changes, newChangeJSON(c, m.Plan.Fixes))
	}
	for _, c := range m.Plan.Fixes {
		out.Cures = append(out.Cures, newCureJSON(c, f.dryRun))
	}
	for _, p := range m.Plan.Proposals {
		form := output.NewFindingJSON(p.Finding)
		form.Fails = true
		out.Proposals = append(out.Proposals, proposalJSON{form, p.Why})
	}
	for _, k := range m.Survey.Skipped {
		out.Skipped = append(out.Skipped, output.NewSkippedJSON(k))
	}
	return out
}

func newChangeJSON(c fix.Change, cures []fix.Fix) changeJSON {
	out := changeJSON{File: c.File, Deleted: c.After == nil, Rules: []string{}, Hunks: []hunkJSON{}, Patch: patchOf(c)}
	for _, cure := range cures {
		for _, f := range cure.Resolves {
			if slices.Contains(cure.Files, c.File) && !slices.Contains(out.Rules, f.Rule) {
				out.Rules = append(out.Rules, f.Rule)
			}
		}
	}
	before := string(c.Before)
	for _, e := range udiff.Lines(before, string(c.After)) {
		out.Hunks = append(out.Hunks, hunkJSON{Line: 1 + strings.Count(before[:e.Start], "\n"), Removed: linesOf(before[e.Start:e.End]), Added: linesOf(e.New)})
	}
	return out
}

func newCureJSON(c fix.Fix, left bool) cureJSON {
	out := cureJSON{What: c.What, Why: c.Why, First: c.First, Files: c.Files, Ends: []output.FindingJSON{}, Proven: []proofJSON{}}
	for _, f := range c.Resolves {
		form := output.NewFindingJSON(f)
		form.Fails = left
		out.Ends = append(out.Ends, form)
	}
	for _, p := range c.Proven {
		proof := proofJSON{Unit: p.Unit, Objects: []output.ObjectJSON{}}
		for _, id := range p.Objects {
			proof.Objects = append(proof.Objects, output.ObjectJSON(id))
		}
		out.Proven = append(out.Proven, proof)
	}
	return out
}

// linesOf are the lines of a text without their ends.
func linesOf(text string) []string {
	out := []string{}
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimRight(line, "\r\n"))
	}
	return out
}
