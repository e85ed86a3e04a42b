package stories

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/permissions"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// usedElsewhere are permissions that stories need not use with that account: tests with other users do.
var usedElsewhere = []string{
	"create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io", // internal/compose, TestTheAPIServerJudgesTokens
	"update leases.coordination.k8s.io", // TestALeaderThatWasStoppedWritesNoMore
	// An app is read again when the data of the API server went back, or seemed to: of which kinds there are apps then is chance.
	"get kustomizations.kustomize.toolkit.fluxcd.io", "get helmreleases.helm.toolkit.fluxcd.io", "get applications.argoproj.io",
}

// eachPermissionIsUsed fails a run of all stories with the permissions of an installation (accountVariable) of which truce has not used one: the roles
// name nothing superfluous. The judge is the audit log. Left out are the kinds of the catalogue of claimants, most of which the server does not have.
func eachPermissionIsUsed(all []kubetest.Entry) error {
	if only := flag.Lookup("test.run").Value.String(); os.Getenv(accountVariable) == "" || only != "" && only != "." {
		return nil
	}
	used := map[string]bool{}
	for _, e := range all {
		if e.User != "system:serviceaccount:"+accountNamespace+":truce" {
			continue
		}
		name := e.Resource.Resource
		if e.Subresource != "" {
			name += "/" + e.Subresource
		}
		used[permission(e.Verb, e.Resource.Group, name)] = true
		switch {
		case e.Verb == "patch" && e.Code == http.StatusCreated: // an apply that has created
			used[permission("create", e.Resource.Group, name)] = true
		case e.Verb == "watch": // which a list begins where the server streams none
			used[permission("list", e.Resource.Group, name)] = true
		}
	}
	var unused []string
	for _, r := range slices.Concat(permissions.ControllerRules(), permissions.NamespaceRules(), permissions.StatusRules(accountNamespace)) {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				if p := permission(verb, r.Group, resource); !used[p] && !slices.Contains(usedElsewhere, p) {
					unused = append(unused, p+" (to "+r.For+")")
				}
			}
		}
	}
	if len(unused) == 0 {
		return nil
	}
	slices.Sort(unused)
	return fmt.Errorf("truce has permissions that no story uses: %s", strings.Join(slices.Compact(unused), "; "))
}

func permission(verb, group, resource string) string {
	if group == "" {
		return verb + " " + resource
	}
	return verb + " " + resource + "." + group
}
