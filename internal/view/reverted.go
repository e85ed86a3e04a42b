package view

import (
	"context"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
)

// fought finds fields that are as Git wants at this moment only because they have just been put back: who looks at an app that flaps
// must not read that all is well. Where truce owns a field that an autoscaler wants to be another number, claims are not ceded, and
// each of the two sets its own, again and again.
func (c *Cluster) fought(ctx context.Context, d *Detail, by lookingEngine) error {
	wants := map[object.ID]any{}
	for _, o := range by.claimants {
		if n := o.At("status", "desiredReplicas"); n != nil { // a HorizontalPodAutoscaler's
			wants[o.ID()] = n
		}
	}
	for i := range d.Report.Objects {
		o := &d.Report.Objects[i]
		claims, there, err := c.claimsOn(ctx, o.ID, by)
		if err != nil {
			return err
		}
		for _, claimed := range claims {
			c.name(o.Findings, claimed)
			f, yes := decide.BackAndForth(claimed, there.Live, there.Owners, wants[claimed.By])
			if masked := report.MaskFinding(c.engine.Mask, o.ID, f); yes && !hasFinding(*o, masked) {
				o.Findings = append(o.Findings, masked)
			}
		}
	}
	return nil
}

// name returns the claimant of a field that differs now, though claims are off: whether it is ceded or not, people ask for the autoscaler, and not for the process
// that speaks for it.
func (c *Cluster) name(findings []report.Finding, claimed claim.Claim) {
	for i, f := range findings {
		if f.Claimant != "" || !f.Path.Equals(claimed.Path) {
			continue
		}
		w := attribution.Attribute(attribution.Case{Path: f.Path, Live: redact.HideValue(f.Live), Scaler: claimed.Scaler(), Writer: f.Writer, Hasher: c.engine.Hasher}, attribution.Statements{})
		w.Often, w.Before = f.Writer.Often, f.Writer.Before
		findings[i].Writer = w
	}
}

// claimsOn are the claims on an object as it was when it was compared; none on one that was not there.
func (c *Cluster) claimsOn(ctx context.Context, id object.ID, by lookingEngine) ([]claim.Claim, claim.Subject, error) {
	was, known := by.seen.of(id)
	if !known {
		return nil, claim.Subject{}, nil
	}
	owners, err := ownership.Entries(was)
	if err != nil {
		return nil, claim.Subject{}, fmt.Errorf("read %s: %w", id, err)
	}
	s := claim.Subject{Live: was, Owners: owners}
	if s.Scale, err = c.objects().Scale(ctx, was.GVK()); err != nil {
		return nil, claim.Subject{}, err
	}
	return by.Catalogue().On(s, by.seen.claims.For(id)), s, nil
}

func hasFinding(o report.Object, f report.Finding) bool {
	return slices.ContainsFunc(o.Findings, func(g report.Finding) bool { return g.Path.Equals(f.Path) })
}
