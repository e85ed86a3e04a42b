package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// journalWithin is how long the journal of a running truce is waited for.
const journalWithin = 5 * time.Second

// explanation gathers what is known of one object.
type explanation struct {
	*Cluster
	question  explain.Question
	subject   explain.Subject
	gvk       object.GVK
	elsewhere []object.Object // the custom resources of apps whose objects are in other clusters
	mask      redact.Mask     // of the object, once it is known what Git wants
}

// Explain gathers what is known of one object, as far as the question reaches. What could not be found out stands in the Subject.
func (c *Cluster) Explain(ctx context.Context, q explain.Question) (explain.Subject, error) {
	if q.Of.Name != "" {
		return c.explainThere(ctx, q, fmt.Errorf("%s lists no %s/%s in another cluster", q.Of, q.Kind, q.Name))
	}
	t, err := c.explanation(ctx, q)
	switch {
	case err != nil && q.Reach == explain.ReachLive:
		return explain.Subject{}, err
	case err != nil: // another cluster may have the kind, whether this one answers for all of its groups or not
		return c.explainThere(ctx, q, err)
	}
	if err := t.look(ctx); err != nil || q.Reach == explain.ReachLive {
		return t.subject, err
	}
	return t.subject, t.gather(ctx)
}

// explanation finds the kind that a question names in this cluster.
func (c *Cluster) explanation(ctx context.Context, q explain.Question) (*explanation, error) {
	t := &explanation{Cluster: c, question: q, mask: c.engine.Mask}
	err := t.find(ctx, c.cluster)
	if errors.Is(err, live.ErrUnknownKind) {
		err = &exit.Error{Code: exit.Usage, Err: err}
	}
	return t, err
}

// find finds the kind that the question names in a cluster.
func (t *explanation) find(ctx context.Context, in *cluster.Client) error {
	q := t.question
	served, err := in.Find(ctx, q.Kind)
	if err != nil {
		return err
	}
	t.gvk = served.GVK
	t.subject = explain.Subject{ID: object.ID{Group: served.GVK.Group, Kind: served.GVK.Kind, Name: q.Name}, Since: q.Since, Now: time.Now()}
	if served.Namespaced {
		t.subject.ID.Namespace = q.Namespace
	}
	return nil
}

// look reads the object at the version that is asked for.
func (t *explanation) look(ctx context.Context) error {
	s := &t.subject
	s.Version = t.gvk.Version
	o, err := nilIfAbsent(t.objects().Live.Get(ctx, t.gvk, s.ID))
	if err != nil {
		return fmt.Errorf("read %s: %w", s.ID, err)
	}
	s.Live = t.mask.ShowFields(o)
	s.Owners, err = explain.FieldOwners(o.At("metadata", "managedFields"))
	if err != nil {
		return fmt.Errorf("read %s: %w", s.ID, err)
	}
	return nil
}

func (t *explanation) gather(ctx context.Context) error {
	k, err := t.keptBy(ctx, t.subject.ID, t.subject.Live.Object())
	if err != nil {
		return err
	}
	t.subject.Others = k.others
	t.noteElsewhere()
	if k.cr == nil && t.subject.Live == nil {
		if found, err := t.gatherThere(ctx); found || err != nil {
			return err
		}
		return t.notFound(ctx)
	}
	if k.cr == nil {
		t.subject.Orphan, t.subject.Unsure = k.orphan, len(t.subject.Unknown) > 0
		return t.unmanaged(ctx)
	}
	if err := t.walk(ctx, k.cr); err != nil {
		return err
	}
	t.recall(ctx)
	return nil
}

// notFound says that truce has deleted the object, or names what there is instead.
func (t *explanation) notFound(ctx context.Context) error {
	text := t.subject.ID.String() + " is not in the cluster, and no app describes it"
	if pruned := t.deletion(ctx); pruned != "" {
		return errors.New(text + "; " + pruned)
	}
	names, err := t.named(ctx, t.gvk, t.subject.ID.Namespace)
	if err != nil {
		return fmt.Errorf("%s (%w)", text, err)
	}
	const most = 8
	if len(names) > most {
		names = append(names[:most], "…")
	}
	if len(names) > 0 {
		text += "; there are " + strings.Join(names, ", ")
	}
	return errors.New(text)
}

// deletion says when truce deleted the object, and why; empty where it has not, or where there is no journal that says so.
func (t *explanation) deletion(ctx context.Context) string {
	if t.subject.Since <= 0 {
		return ""
	}
	entries, err := t.entriesOf(ctx, app.Key{})
	for _, e := range slices.Backward(entries) {
		if e.What == journal.Pruned {
			return fmt.Sprintf("%s deleted it at %s: %s", e.App, e.At.Local().Format("2006-01-02 15:04:05"), strings.TrimSuffix(e.Reason+", "+e.Revision, ", "))
		}
	}
	if err != nil && !errors.Is(err, instance.ErrNoPage) {
		return "what truce did lately: " + redact.MaskText(err.Error())
	}
	return ""
}

// named lists the objects of a kind by their names.
func (c *Cluster) named(ctx context.Context, gvk object.GVK, namespace string) ([]string, error) {
	var out []string
	err := c.engine.Live.Heads(ctx, live.Interest{GVK: gvk, Namespace: namespace, Depth: live.Metadata}, func(h live.Head) {
		out = append(out, h.ID.Name)
	})
	slices.Sort(out)
	return slices.Compact(out), err
}

// unmanaged says who answers for an object that no app keeps.
func (t *explanation) unmanaged(ctx context.Context) error {
	s := &t.subject
	makers, top, err := t.makers(ctx, s.Live.Object())
	if err != nil {
		t.unknown("Who made it is not known whole: " + redact.MaskText(err.Error()) + ".")
	}
	s.Makers = makers
	if len(makers) == 0 || top == nil {
		return nil
	}
	last := makers[len(makers)-1]
	k, err := t.keptBy(ctx, last, top)
	if err == nil && k.cr != nil {
		s.Keeping = fmt.Sprintf("%s is kept as Git has it by %s: ask `truce why %s`.", last, appKeyOf(k.cr), asArgument(last))
	}
	return err
}

// asArgument is an object as an argument names it.
func asArgument(id object.ID) string {
	text := strings.ToLower(id.Kind)
	if id.Group != "" {
		text += "." + id.Group
	}
	text += "/" + id.Name
	if id.Namespace != "" {
		text += " -n " + id.Namespace
	}
	return text
}

// makers follows ownerReferences up, and returns the last object that is there.
func (t *explanation) makers(ctx context.Context, o object.Object) (ids []object.ID, top object.Object, err error) {
	const most = 6
	for range most {
		gvk, id := makerOf(o)
		if id.Name == "" {
			return ids, top, nil
		}
		res, err := t.objectClient().Resource(gvk)
		if err != nil {
			return append(ids, id), nil, err
		}
		if !res.Namespaced {
			id.Namespace = ""
		}
		ids = append(ids, id)
		if o, err = nilIfAbsent(t.objects().Live.Get(ctx, gvk, id)); err != nil || o == nil {
			return ids, nil, err
		}
		top = o
	}
	return ids, top, nil
}

// makerOf is the owner that answers for an object, or else the first; the zero ID for none.
func makerOf(o object.Object) (object.GVK, object.ID) {
	list, _ := o.At("metadata", "ownerReferences").([]any)
	var owner object.Object
	for _, e := range list {
		m, _ := e.(map[string]any)
		if owner == nil || m["controller"] == true {
			owner = m
		}
	}
	gvk := owner.GVK()
	return gvk, object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.Namespace(), Name: owner.StringAt("name")}
}

// recall asks the journal of a running truce.
func (t *explanation) recall(ctx context.Context) {
	s := &t.subject
	if s.App == nil || s.Since <= 0 {
		return
	}
	entries, err := t.entriesOf(ctx, s.App.Key)
	if err != nil {
		s.Since = 0
		t.unknown("What truce did lately: " + redact.MaskText(err.Error()) + ".")
		return
	}
	s.Journal = entries
}

// entriesOf reads what the journal of a running truce has about the object and an app; of all apps for an empty key.
func (t *explanation) entriesOf(ctx context.Context, key app.Key) ([]journal.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, journalWithin)
	defer cancel()
	q := journal.Query{Since: t.subject.Now.Add(-t.subject.Since), App: key, Object: t.subject.ID}
	ask := t.Journal
	if from := t.question.From; from != "" {
		ask = func(ctx context.Context, q journal.Query) ([]journal.Entry, error) { return ReadJournal(ctx, from, q) }
	}
	entries, err := ask(ctx, q)
	return slices.DeleteFunc(entries, func(e journal.Entry) bool { return !q.Matches(e) }), err
}

func appKeyOf(cr object.Object) app.Key {
	return app.Key{Kind: cr.GVK().Kind, Namespace: cr.Namespace(), Name: cr.Name()}
}

// Objects lists what completes the name of an object; for no kind, the kinds.
func (c *Cluster) Objects(ctx context.Context, kind, namespace string) ([]string, error) {
	if kind == "" {
		all, err := c.cluster.Served(ctx)
		var out []string
		for _, s := range all {
			out = append(out, s.Name)
		}
		slices.Sort(out)
		return slices.Compact(out), err
	}
	served, err := c.cluster.Find(ctx, kind)
	if err != nil {
		return nil, err
	}
	if !served.Namespaced {
		namespace = ""
	}
	return c.named(ctx, served.GVK, namespace)
}
