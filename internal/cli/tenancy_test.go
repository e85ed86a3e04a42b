package cli

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/controller/manager"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// parsed is what the flags of `truce controller` ask for.
func parsed(t *testing.T, args ...string) (manager.Options, error) {
	t.Helper()
	ran := &recordedRun{}
	p := &program{env: Environment{Err: io.Discard}, backend: Backend{Services: ran}}
	cmd := p.controller()
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return ran.options, err
}

// recordedRun takes the options of a controller, and runs none.
type recordedRun struct {
	Services
	options manager.Options
}

func (r *recordedRun) RunController(_ context.Context, o manager.Options) error {
	r.options = o
	return nil
}

func TestMultiTenantSetsWhatTenantsNeed(t *testing.T) {
	o, err := parsed(t, "--multi-tenant", "--admin-namespaces", "flux-system,argocd")
	if err != nil {
		t.Fatal(err)
	}
	want := tenancy.Rules{References: tenancy.SameNamespace, Account: "default", TokenAccount: "default", Sharing: tenancy.Shared, Admins: []string{"flux-system", "argocd"}}
	if diff := cmp.Diff(want, o.Tenancy); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if o.Remotes.Reach != upstream.ReachNone || o.Sources.Reach != egress.ReachPublic {
		t.Errorf("remote bases: %q, sources: %q", o.Remotes.Reach, o.Sources.Reach)
	}
	o, err = parsed(t, "--multi-tenant", "--remote-hosts", "github.com", "--default-service-account", "flux")
	if err != nil || o.Tenancy.Account != "flux" || len(o.Remotes.Listed) != 1 {
		t.Errorf("what is set beside it: %+v, %+v, %v", o.Tenancy, o.Remotes, err)
	}
	if o, err = parsed(t); err != nil || cmp.Diff(tenancy.Rules{}, o.Tenancy) != "" {
		t.Errorf("without a flag: %+v, %v", o.Tenancy, err)
	}
	for _, bad := range [][]string{{"--admin-namespaces", "a"}, {"--multi-tenant", "--admin-namespaces", "A"}, {"--default-service-account", "a:b"}} {
		_, err := parsed(t, bad...)
		if coded := (*exit.Error)(nil); !errors.As(err, &coded) || coded.Code != exit.Usage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
