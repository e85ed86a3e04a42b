package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// adoptionWrite is what an adoption is going to do with an object.
type adoptionWrite struct {
	verb string
	gvk  object.GVK
	id   object.ID
}

// adoptionWrites are the writes of an adoption, as far as rights are what decides about them.
func adoptionWrites(d Detail, set desired.Set, leaving map[object.ID]string) []adoptionWrite {
	seen := map[object.ID]report.Object{}
	for _, o := range d.Report.Objects {
		seen[o.ID] = o
	}
	finds := func(o report.Object, kind compare.Kind) bool {
		return slices.ContainsFunc(o.Findings, func(f report.Finding) bool { return f.Kind == kind && len(f.Path) == 0 })
	}
	var out []adoptionWrite
	for _, o := range set.Objects {
		known := seen[o.ID]
		if known.Problem != "" || finds(known, compare.Unmanaged) || tenancy.Refusal(d.App, o.ID) != "" {
			continue
		}
		out = append(out, adoptionWrite{"patch", o.GVK, o.ID})
		if finds(known, compare.Missing) {
			out = append(out, adoptionWrite{"create", o.GVK, o.ID})
		}
	}
	for _, id := range d.Leaving {
		out = append(out, adoptionWrite{"delete", object.GVK{Group: id.Group, Version: leaving[id], Kind: id.Kind}, id})
	}
	return out
}

// refuseWithoutRights is an error if the account that carries out an adoption may not do all of it: some of the objects would be truce's then, and the
// others without a controller. Where its rights cannot be known a note says so.
func (c *Cluster) refuseWithoutRights(ctx context.Context, how controllerSettings, d *Detail, writes []adoptionWrite) error {
	account := d.App.Account
	if account.IsSelf() && c.other == nil {
		account = how.account
	}
	if account.IsSelf() {
		return nil
	}
	rights, why := c.accountRights(ctx, account)
	if rights == nil && account == d.App.Account { // it is said already
		return nil
	}
	if rights == nil {
		d.Report.Notes = append(d.Report.Notes, fmt.Sprintf("whether %s may do all of this is not known: %s", account.User(), why))
		return nil
	}
	lacks, err := refusedWrites(ctx, rights, account, writes)
	if err != nil || len(lacks) == 0 {
		return err
	}
	return &exit.Error{Code: exit.Differs, Err: fmt.Errorf("%s is not adopted, since not all of it could be written: %s", d.App.Key, strings.Join(lacks, "; "))}
}

// refusedWrites says why an account may not do some of the writes, each reason once and with the objects.
func refusedWrites(ctx context.Context, rights tenancy.Rights, account identity.Account, writes []adoptionWrite) (lacks []string, err error) {
	objects := map[string][]string{}
	for _, w := range writes {
		why, err := rights.Refused(ctx, w.verb, w.gvk, w.id)
		if err != nil && !errors.Is(err, live.ErrUnknownKind) { // its definition comes with the app
			return nil, &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("ask whether %s may %s %s: %w", account.User(), w.verb, w.id, err)}
		}
		if why == "" {
			continue
		}
		if objects[why] == nil {
			lacks = append(lacks, why)
		}
		objects[why] = append(objects[why], w.id.String())
	}
	for i, why := range lacks {
		lacks[i] = why + " (" + firstOf(objects[why]) + ")"
	}
	return lacks, nil
}

// firstOf names the first of several, and counts the others.
func firstOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}
