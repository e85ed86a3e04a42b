package discover

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source/chartfile"
)

// ownAddresses is which addresses are this repository's.
type ownAddresses struct {
	proven  map[string]bool
	assumed string
	why     string
}

func isRepository(gvk object.GVK) bool {
	return gvk.Group == "source.toolkit.fluxcd.io" && isFluxSource(gvk.Kind)
}

const (
	gitRepository = "GitRepository"
	ociRepository = "OCIRepository"
	bucket        = "Bucket"
	external      = "ExternalArtifact"
	helm          = "HelmRepository"
	helmChart     = "HelmChart"
)

func isFluxSource(kind string) bool { return kind == gitRepository || isArtifact(kind) }

// isArtifact reports whether a source is something that was made of files, and is no repository of them.
func isArtifact(kind string) bool {
	return kind == ociRepository || kind == bucket || kind == external || kind == helm || kind == helmChart
}

// sourceName is a source without its revision.
func sourceName(k app.SourceKey) app.SourceKey {
	return app.SourceKey{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
}

// addresses are those that the app's files may come from: a source may be written differently for each cluster. One that is not
// in the tree is its own address.
func (t *finder) addresses(a app.App) []string {
	if !isFluxSource(a.Source.Kind) {
		return []string{a.Source.Name}
	}
	var out []string
	for _, d := range t.repositories[sourceName(a.Source)] {
		if text, ok := d.object.At("spec", "url").(string); ok && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return []string{a.Source.String()}
	}
	return out
}

// locate finds out which addresses are this repository's. A remote of its clone is. So is that of a GitRepository which an app reads from
// a directory that holds the very file of the GitRepository, as flux bootstrap writes it. Where no app is read from any of
// those, the one address is assumed to be from which the most directories are read that are here; the only address also if no directory is named.
func (t *finder) locate() {
	if t.own.proven == nil {
		t.own.proven = map[string]bool{}
		for _, text := range t.Addresses {
			t.own.proven[sameAddress(text)] = true
		}
	}
	matched := false
	for _, w := range t.wanted {
		t.holds(w)
		for _, a := range w.unit.eachSource() {
			matched = matched || slices.ContainsFunc(t.addresses(a.App), t.isTaken)
		}
	}
	if !matched && t.own.assumed == "" {
		t.assume()
	}
}

// IsHere implements Addresses: it reports whether an address is one by which this repository is known from the start.
func (t *finder) IsHere(address string) bool {
	return slices.ContainsFunc(t.Addresses, func(s string) bool { return sameAddress(s) == sameAddress(address) })
}

func (t *finder) holds(w *wanted) {
	a := w.unit.App
	if w.unit.Dialect != Flux || a.Path == "." || a.Release != nil {
		return
	}
	for _, d := range t.repositories[sourceName(a.Source)] {
		if text, ok := d.object.At("spec", "url").(string); ok && strings.HasPrefix(d.file, a.Path+"/") {
			t.own.proven[sameAddress(text)] = true
		}
	}
}

func (t *finder) assume() {
	shown, there, absent, all := map[string]string{}, map[string]int{}, map[string]int{}, map[string]int{}
	for _, w := range t.wanted {
		for key, found := range t.readFrom(w, shown) {
			all[key]++
			if found.here {
				there[key]++
			}
			if found.absent {
				absent[key]++
			}
		}
	}
	best := ""
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if there[key] > there[best] || len(all) == 1 && absent[key] == 0 {
			best = key
		}
	}
	if best == "" {
		return
	}
	t.own.assumed = best
	t.own.why = assumptionText(shown[best], all[best], there[best])
}

// directories is what this repository has of the directories that an app names in another place: one of them, and not one of them. The top of
// a repository shows neither.
type directories struct{ here, absent bool }

// readFrom is which addresses an app is read from, and what is here of its directories there; shown gets them as they are written.
func (t *finder) readFrom(w *wanted, shown map[string]string) map[string]directories {
	out := map[string]directories{}
	for _, a := range w.unit.eachSource() {
		if !t.mayShow(w, a) {
			continue
		}
		for _, text := range t.addresses(a.App) {
			key := sameAddress(text)
			shown[key] = text
			found := out[key]
			if a.Path != "." {
				found.here = found.here || t.isDirectory(a.Path)
				found.absent = found.absent || !t.isBuildable(a.App)
			}
			out[key] = found
		}
	}
	return out
}

// mayShow reports whether an app, as it holds for one of its sources, can show which address is this repository's: an artifact, or a chart, need not be
// laid out as it is.
func (t *finder) mayShow(w *wanted, a oneSource) bool {
	if _, isChart := t.chartOf(a.App, w.unit.Resource, a.field); isChart {
		return false
	}
	return w.unit.Dialect != Bare && !isArtifact(a.Source.Kind) && t.blocked(w) == "" && (a.Release == nil || t.isChart(a.Path))
}

// elsewhere says why the app is not rendered; the zero Skipped where it is.
func (t *finder) elsewhere(w *wanted) Skipped {
	left := Skipped{File: w.unit.File, Line: w.unit.Line, What: w.unit.Name(), Dialect: w.unit.Dialect}
	if w.unit.Dialect == Bare {
		return Skipped{}
	}
	if left.Why = t.blocked(w); left.Why != "" {
		left.Broken = !strings.Contains(left.Why, unsupported)
		return left
	}
	all := t.addresses(w.unit.App)
	chart, isChart := t.chartOf(w.unit.App, w.unit.Resource, "")
	switch {
	case len(w.unit.App.Parts) > 0:
		return t.partElsewhere(w, left)
	case isChart:
		return t.chartElsewhere(chart, left, all[0])
	case slices.ContainsFunc(all, t.isTaken), t.byPath(w):
		return t.outside(w, left)
	case t.isAbsent(w.unit.App):
		left.Why = fmt.Sprintf("is read from %s, which is not in this repository", all[0])
		if w.unit.App.Path != "." {
			left.Why += fmt.Sprintf(", and neither is %s", w.unit.App.Path)
		}
		left.Reason = "is read from a GitRepository that is not in this repository"
	case isArtifact(w.unit.App.Source.Kind):
		left.Why = "is read from " + strings.Join(all, ", ") + ": an artifact, which is not this repository"
		left.Reason = "is read from an artifact"
	default:
		left.Why = "is read from " + strings.Join(all, ", ") + ", which is not this repository"
		left.Reason = "is read from another repository"
	}
	return left
}

// isTaken reports whether an address is one of this repository's, by proof or by assumption.
func (t *finder) isTaken(address string) bool {
	key := sameAddress(address)
	return t.own.proven[key] || key == t.own.assumed
}

// isAbsent reports whether no file of the tree, and nothing that an app describes, is the GitRepository that the app is read from.
func (t *finder) isAbsent(a app.App) bool {
	return a.Source.Kind == gitRepository && len(t.repositories[sourceName(a.Source)]) == 0
}

// byPath reports whether the app is taken for one of this repository because its GitRepository is absent and its path is here.
func (t *finder) byPath(w *wanted) bool {
	return w.unit.Dialect == Flux && w.unit.App.Path != "." && t.isAbsent(w.unit.App) && t.isBuildable(w.unit.App)
}

// isBuildable reports whether a directory is at the path of an app, or what may be a packaged chart at that of a release.
func (t *finder) isBuildable(a app.App) bool {
	return t.isDirectory(a.Path) || t.isPackaged(a, a.Path)
}

func (t *finder) isPackaged(a app.App, name string) bool {
	return a.Release != nil && chartfile.IsPackaged(t.files, name)
}

func (t *finder) isDirectory(name string) bool {
	info, err := fs.Stat(t.files, name)
	return err == nil && info.IsDir()
}

// assumptions are sentences about the addresses that are taken for this repository without proof.
func (t *finder) assumptions() (why []string, taken []app.SourceKey) {
	all, there, sources := map[string]int{}, map[string]int{}, map[app.SourceKey]bool{}
	for _, w := range t.wanted {
		if !w.kept || w.unit.Dialect == Bare || t.blocked(w) != "" || !t.isAbsent(w.unit.App) {
			continue
		}
		name := w.unit.App.Source.String()
		all[name]++
		if t.byPath(w) {
			there[name]++
			sources[w.unit.App.Source] = true
		}
	}
	if t.own.why != "" {
		why = append(why, t.own.why)
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if sameAddress(name) != t.own.assumed {
			why = append(why, assumptionText(name, all[name], there[name]))
		}
	}
	return why, slices.SortedFunc(maps.Keys(sources), func(a, b app.SourceKey) int { return cmp.Compare(a.String(), b.String()) })
}

func assumptionText(address string, all, there int) string {
	return fmt.Sprintf("%s is taken for this repository: of %d apps that are read from it, %d name a directory that is here", address, all, there)
}

// unsupported begins the problem that a dialect has with what truce cannot do (reader.Lacks).
const unsupported = "not supported yet"

// blocked is the problem for which it is not known what the app reads; empty for none. Its other problems hinder no look.
func (t *finder) blocked(w *wanted) string {
	for _, p := range w.unit.App.Problems {
		if p.Field == "spec" || p.Field == "spec.path" || strings.HasPrefix(p.Field, "spec.source") || strings.HasPrefix(p.Field, "spec.chart") {
			return p.Field + ": " + p.Reason
		}
	}
	return ""
}

// sameAddress is an address without what differs between two ways to the same repository: scheme, user, port, case of the
// host, .git at the end.
func sameAddress(text string) string {
	host, dir := "", text
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		host, dir = u.Hostname(), u.Path
	} else if before, after, ok := strings.Cut(text, ":"); ok && !strings.Contains(before, "/") {
		host, dir = before[strings.LastIndex(before, "@")+1:], after
	} else if u != nil && u.Scheme == "file" {
		dir = u.Path
	}
	dir = strings.TrimSuffix(strings.TrimSuffix(dir, "/"), ".git")
	return strings.ToLower(host) + path.Clean("/"+dir)
}
