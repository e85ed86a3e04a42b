package view

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/project"
)

// claimsConfig is the ConfigMap with claims of the user's, as internal/controller reads it.
const claimsConfig = "truce-claims"

// controllerSettings is how the controller runs, as far as it is known.
type controllerSettings struct {
	policy     policy.Policy
	account    identity.Account // the controller's own; its zero value where that is not known
	tenancy    tenancy.Rules
	catalogue  *claim.Catalogue
	namespaces cluster.Namespaces
	projects   project.Known            // that bound apps of the kind which is looked at
	settings   map[string]object.Object // of Argo CDs, by their namespaces
	notes      []string                 // what a reader of a comparison should know of it
}

// process reads what the controller has written down. Without that the defaults are taken, and a note says so.
func (c *Cluster) process(ctx context.Context, key app.Key) (controllerSettings, error) {
	all, err := instance.WorkingFor(ctx, c.cluster, key.Namespace)
	if err != nil {
		return controllerSettings{}, err
	}
	found := believed(all, key.Namespace)
	out := controllerSettings{catalogue: claim.Builtin()}
	c.readProjects(ctx, key, &out)
	if len(found) == 0 {
		out.notes = append(out.notes, "no controller says how it runs, or you may not read that (ConfigMap "+instance.ConfigMap+"): the defaults of its flags are taken")
		return out, nil
	}
	for _, other := range found[1:] {
		if other.Flags() != found[0].Flags() {
			out.notes = append(out.notes, fmt.Sprintf("several controllers run differently (%s, %s): the flags of the first are taken", found[0], other))
		}
	}
	for _, other := range all[len(found):] {
		out.notes = append(out.notes, fmt.Sprintf("%s says that it works for namespace %s, too: %s is believed", other, key.Namespace, found[0]))
	}
	if note := instance.WarnOfOverlap(ctx, key.Namespace, all); note != "" {
		out.notes = append(out.notes, note)
	}
	out.take(found[0])
	out.projects = out.projects.In(out.namespaces)
	c.fetchFrom(found[0].Remotes())
	if servers, known := found[0].Sources(); known {
		c.servers.SetServers(servers)
	}
	claims, err := instance.ConfigMaps(c.cluster, found[0].Home()).Get(ctx, claimsConfig, metav1.GetOptions{})
	switch {
	case err == nil:
		out.claims(claims.Object)
	case !apierrors.IsNotFound(err):
		out.notes = append(out.notes, fmt.Sprintf("what ConfigMap %s/%s says of claims is not known: %v", found[0].Home(), claimsConfig, err))
	}
	return out, nil
}

// take judges by the flags of a controller.
func (p *controllerSettings) take(i instance.Instance) {
	known := false
	p.policy = i.Policy()
	p.account, _ = i.Account()
	if p.tenancy, known = i.Tenancy(); !known {
		p.notes = append(p.notes, fmt.Sprintf("%s does not say what the controller refuses tenants (--multi-tenant, --no-cross-namespace-refs): nothing is refused here", i))
	}
	if flags := i.Flags(); flags != "" {
		p.notes = append(p.notes, fmt.Sprintf("as the controller runs: %s (%s)", flags, i))
	}
	p.namespaces = i.Namespaces()
	p.with(i.String(), i.Claims())
}

// claims adds the files of the ConfigMap that the controller watches.
func (p *controllerSettings) claims(o object.Object) {
	for _, name := range dataKeys(o) {
		p.with("ConfigMap "+o.Namespace()+"/"+o.Name()+" "+name, o.StringAt("data", name))
	}
}

func (p *controllerSettings) with(file, claims string) {
	next, err := p.catalogue.With(file, []byte(claims))
	if err != nil {
		p.notes = append(p.notes, fmt.Sprintf("claims left out: %v", err))
		return
	}
	p.catalogue = next
}

func dataKeys(o object.Object) []string {
	data, _ := o.At("data").(map[string]any)
	return slices.Sorted(maps.Keys(data))
}
