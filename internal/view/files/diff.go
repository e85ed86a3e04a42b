package files

import (
	"context"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/reconcile/adhoc"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// Compare compares what a command names with a file of live objects, or with the cluster that it connects to as this version of truce.
func Compare(ctx context.Context, version string, q Query) (view.Detail, error) {
	files, err := readDesired(ctx, q)
	defer files.close()
	if err != nil {
		return view.Detail{}, failedRender(err)
	}
	d := view.Detail{Report: report.Report{Stage: report.Done, Reason: report.Succeeded}}
	c := comparison{query: q, notes: &d.Report.Notes}
	var nameless []report.Object
	nameless, c.git = adhoc.SplitNameless(files.objects)
	var subjects []adhoc.Subject
	var judge adhoc.Comparer
	if q.Live != "" {
		subjects, judge, err = c.withFile()
	} else {
		subjects, judge, err = c.withCluster(ctx, version)
	}
	if err != nil {
		return view.Detail{}, err
	}
	for _, s := range subjects {
		o := judge.Object(s)
		c.scaled(o)
		d.Report.Objects = append(d.Report.Objects, o)
	}
	d.Origin = files.origins(subjects, d.Report.Objects)
	d.Report.Objects = append(d.Report.Objects, nameless...)
	return d, nil
}

// comparison is one run of the command.
type comparison struct {
	query Query
	git   []render.Object
	notes *[]string
}

func (c comparison) note(format string, args ...any) {
	*c.notes = append(*c.notes, fmt.Sprintf(format, args...))
}

func (c comparison) judge(all []object.Object) adhoc.Comparer {
	return adhoc.Comparer{
		Claims: adhoc.NewClaimFinder(all), Cession: c.query.Claims, Health: registry.HealthRules()[c.query.Rules()], Mask: c.query.Mask, Hasher: ownership.NewHasher(), Kinds: schema.Builtin(),
	}
}

// withFile compares without a cluster.
func (c comparison) withFile() ([]adhoc.Subject, adhoc.Comparer, error) {
	var from []render.Object
	err := eachObject(c.query.Live, c.query.In, func(o render.Object) { from = append(from, o) })
	if err != nil {
		return nil, adhoc.Comparer{}, exit.WithCode(exit.Usage, err)
	}
	live, err := adhoc.UniqueObjects(from)
	if err != nil {
		return nil, adhoc.Comparer{}, exit.WithCode(exit.Usage, err)
	}
	subjects, err := adhoc.MatchObjects(c.git, live, c.query.Namespace)
	if err != nil {
		return nil, adhoc.Comparer{}, exit.WithCode(exit.Usage, err)
	}
	var all []object.Object
	for _, s := range subjects {
		all = append(all, s.Desired.Data)
	}
	for _, o := range from {
		all = append(all, o.Data)
	}
	c.doubts(subjects, len(live))
	return subjects, c.judge(all), nil
}

// doubts says what the answer leaves out, and what would make it better.
func (c comparison) doubts(subjects []adhoc.Subject, live int) {
	unowned := 0
	for _, s := range subjects {
		if s.Live == nil {
			continue
		}
		live--
		if s.Live.At("metadata", "managedFields") == nil {
			unowned++
		}
	}
	if live > 0 {
		c.note("not compared, since Git does not describe them: %d of the live objects", live)
	}
	if unowned > 0 {
		c.note("it is unknown who wrote the fields of %d of the live objects: they have no managedFields (kubectl get -o yaml --show-managed-fields)", unowned)
	}
}

// scaled says of a count that was set as autoscalers do that the autoscaler may be missing from the file.
func (c comparison) scaled(o report.Object) {
	if c.query.Live == "" || c.query.Claims != policy.ClaimsCede {
		return
	}
	for _, f := range o.Findings {
		if f.Verdict == decide.Correct && f.Claimant == "" && strings.HasSuffix(f.Writer.Name, "(scale)") && !f.Writer.Person {
			c.note("%s: %s was set as autoscalers do, and the files have no autoscaler for it: add it to %s, and the field is ceded",
				o.ID, field.PathString(f.Path), c.query.Live)
		}
	}
}

// origins finds where the files name the fields that differ. It looks now: the tree is closed later.
func (g described) origins(subjects []adhoc.Subject, objects []report.Object) func(object.ID, field.Path) desired.Place {
	known := map[string]desired.Place{}
	for i, o := range objects {
		for _, f := range o.Findings {
			if len(f.Path) > 0 {
				known[placeKey(o.ID, f.Path)] = g.origin(subjects[i].Desired, f.Path)
			}
		}
	}
	return func(id object.ID, p field.Path) desired.Place { return known[placeKey(id, p)] }
}

func placeKey(id object.ID, p field.Path) string { return id.String() + field.PathString(p) }

func (g described) origin(o desired.Object, p field.Path) desired.Place {
	if g.tree == nil {
		return desired.FieldOrigin(g.file, app.App{Path: "."}, o, p)
	}
	return desired.FieldOrigin(g.tree, app.App{Path: g.dir}, o, p)
}
