package stories

import (
	"fmt"
	"time"
)

// restore is a backup of etcd that is restored while truce runs, from before a commit that makes, changes and drops objects. Truce does all that
// again, and prunes when it is asked to.
var restore = scene{
	name: "restore of etcd while truce runs", files: shop, live: true, starts: true, alone: true, floor: 3,
	objects: []string{"ConfigMap/a", "ConfigMap/c", "Deployment/web"},
	setup:   (*stage).goBack,
	trigger: func(s *stage) { s.toll.mend() },
	ended: func(s *stage) {
		s.untilEvery(200*time.Millisecond, "the prune that a request asks for", func() bool {
			s.approveHeld()
			return !s.isThere(services, "web") && !s.isThere(configmaps, "b")
		})
		s.ready("web")
	},
}

// goBack makes the API server's data go back to before a commit. Truce does not reach the server until the toll is mended: the watches of
// the judge are there first.
func (s *stage) goBack() {
	s.t.Helper()
	backup := s.CopyData(s.t)
	s.repo.Commit(map[string]string{
		"app/kustomization.yaml": "namespace: " + s.ns + "\nresources: [web.yaml, a.yaml, c.yaml]\n",
		"app/c.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {colour: grey}\n",
	}, "c comes, b and the Service go")
	s.edit("app/a.yaml", "blue", "green")
	s.edit("app/web.yaml", "nginx:1.21.0", "nginx:1.22.0")
	s.look()
	s.ready("web")
	s.quiet()
	const writes = 300 // the restored server takes a while to come as far
	for n := range writes {
		s.patch(serviceAccounts, "default", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"n": fmt.Sprint(n)}}}, "person")
	}
	s.toll.cut()
	s.deployments.End()
	s.apps.End()
	s.RestoreData(s.t, backup)
	s.deployments, s.apps = s.Watch(s.t, deployments, s.ns, "web"), s.Watch(s.t, kustomizations, s.ns, "web")
	s.wentBack = true
}
