package stories

import (
	"context"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/testing/cloudtest"
)

// eksTokens are those of a cluster of EKS: URLs of STS, which only the keys of the role can have signed.
type eksTokens struct{ cluster, region, user string }

func (e eksTokens) userOf(_ context.Context, token string) string {
	if cloudtest.PresignedFault(token, e.cluster, e.region) != "" {
		return ""
	}
	return e.user
}

// reachedAsRole is the scene of an app whose ConfigMap names a cluster of EKS, and an account that has a role there.
func reachedAsRole(f farWorld) {
	const role, cluster = "arn:aws:iam::123456789012:role/deployer", "arn:aws:eks:eu-west-1:123456789012:cluster/prod"
	g := openGate(f, eksTokens{"prod", "eu-west-1", role})
	defer g.close()
	more := fmt.Sprintf(", cluster: %q, serviceAccountName: ", cluster)
	f.Apply(f.t, g.referenceOf("aws", more+"absent"))
	f.Apply(f.t, f.manifest("by-role", "./tenant", "interval: 1h\nretryInterval: 1s\nkubeConfig: {configMapRef: {name: gate}}"))
	f.fails("by-role", "ServiceAccount "+f.ns+"/absent")
	for _, name := range []string{"deployer", "stranger"} {
		f.Apply(f.t, fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: %s, annotations: {eks.amazonaws.com/role-arn: %q}}}", name, f.ns, role))
	}
	f.clouds.Allow(role, f.user("deployer"))
	f.Apply(f.t, g.referenceOf("aws", more+"stranger"))
	f.fails("by-role", "AccessDenied")
	f.Apply(f.t, g.referenceOf("aws", strings.Replace(more, "cluster/prod", "cluster/other", 1)+"deployer"))
	f.fails("by-role", "rejects the credentials")
	if tokens, _ := g.counts(); tokens != 0 {
		f.t.Errorf("%d tokens were let in that are not for this cluster", tokens)
	}
	f.there.Kubectl(f.t, "create", "clusterrolebinding", "deployer-"+f.ns, "--clusterrole=cluster-admin", "--user="+role)
	f.Apply(f.t, g.referenceOf("aws", more+"deployer"))
	f.ready("by-role")
	if got := f.writers("of-tenant"); !got[role] {
		f.t.Errorf("the object was written by %v", got)
	}
	f.renewed(g, "by-role", "more: token", "more: role")
	f.tellsNoKeys(f.clouds, "configmaps")
	f.kubectl("delete", "kustomization/by-role")
}
