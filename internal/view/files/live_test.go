package files_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// kindsWithDefaults are objects of Kubernetes' own kinds that name as little as they may.
const kindsWithDefaults = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      initContainers: [{name: init, image: "registry.example/init:1"}]
      containers:
      - name: web
        image: registry.example/web
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {port: 8080}}
        lifecycle: {preStop: {httpGet: {port: 8080}}}
        env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        resources: {limits: {cpu: 100m, memory: 64Mi}}
      volumes: [{name: a}, {name: b, configMap: {name: a}}, {name: c, secret: {secretName: a}}, {name: d, projected: {sources: [{serviceAccountToken: {path: t}}]}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: "registry.example/db:1"}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: agent, image: "registry.example/agent:1"}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: once, image: "registry.example/once:1"}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: tidy, image: "registry.example/tidy:1"}]}}}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: other}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}, behavior: {scaleDown: {stabilizationWindowSeconds: 60}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {}, ingress: [{ports: [{port: 80}]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: User, name: jane}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {k: v}
---
apiVersion: v1
kind: Secret
metadata: {name: a}
stringData: {k: v}
`

// server is a namespace of a real API server, as kubectl reaches it.
type server struct {
	t       *testing.T
	kubectl string
	config  string
	ns      string
}

func (s server) run(in string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.kubectl, append([]string{"--kubeconfig", s.config, "-n", s.ns}, args...)...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// live is what kubectl get says of the kinds.
func (s server) live() string {
	return s.run("", "get", "deploy,sts,ds,job,cronjob,svc,ing,hpa,pdb,pvc,netpol,rolebinding,sa,cm,secret", "-o", "yaml", "--show-managed-fields")
}

// What the server fills in is no difference, however the objects were created; what Git has dropped is one, as far as a manager's entry
// or the annotation of kubectl apply says that it was applied.
func TestAFileOfLiveObjectsFromAServer(t *testing.T) {
	c := kubetest.Start(t)
	text := kindsWithDefaults
	changed := strings.NewReplacer(
		"metadata: {name: web}\nspec:\n  selector", "metadata: {name: web, labels: {team: shop}, annotations: {note: x}}\nspec:\n  minReadySeconds: 5\n  revisionHistoryLimit: 10\n  selector",
		"        ports: [{containerPort: 8080}]\n", "        ports: [{containerPort: 8080}, {containerPort: 9090}]\n        workingDir: /srv\n        imagePullPolicy: Always\n",
		"data: {k: v}", "data: {k: v, gone: x}",
	).Replace(text)
	dropped := []string{
		"metadata.annotations.note", "metadata.labels.team", "spec.minReadySeconds",
		"spec.template.spec.containers[name=web].ports[containerPort=9090,protocol=TCP]", "spec.template.spec.containers[name=web].workingDir", "data.gone",
	}
	for what, how := range map[string]struct {
		first  []string
		second []string // with what Git drops afterwards; nil for none
	}{
		"create":      {first: []string{"create", "-f", "-"}},
		"apply":       {first: []string{"apply", "-f", "-"}, second: []string{"apply", "-f", "-"}},
		"server-side": {first: []string{"apply", "--server-side", "-f", "-"}, second: []string{"apply", "--server-side", "-f", "-"}},
		"flux":        {first: []string{"apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-"}, second: []string{"apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-"}},
		"argocd":      {first: []string{"apply", "--field-manager=argocd-controller", "-f", "-"}, second: []string{"apply", "--field-manager=argocd-controller", "-f", "-"}},
	} {
		t.Run(what, func(t *testing.T) {
			s := server{t: t, kubectl: kubectlBinary(t), config: c.Kubeconfig, ns: c.Namespace(t)}
			s.run(text, how.first...)
			if what == "create" { // so that the entry of who made it is newer than the object
				s.run("", "label", "deploy/web", "team=shop", "--field-manager=kubectl-create")
				text := strings.Replace(text, "metadata: {name: web}\nspec:\n  selector", "metadata: {name: web, labels: {team: shop}}\nspec:\n  selector", 1)
				s.compare(text, nil)
				return
			}
			s.compare(text, nil)
			s.run(changed, how.second...)
			s.compare(changed, nil)
			s.compare(text, dropped)
		})
	}
}

// compare wants the fields that differ, those of all objects in one list.
func (s server) compare(git string, want []string) {
	s.t.Helper()
	dir := files(s.t, map[string]string{"git.yaml": git, "live.yaml": s.live()})
	got := run(s.t, "", "diff", "-f", filepath.Join(dir, "git.yaml"), "--live", filepath.Join(dir, "live.yaml"), "-n", s.ns,
		"-o", `jsonpath={range .objects[*].fields[*]}{.path}{"\n"}{end}`)
	paths := strings.Fields(got.out)
	for i := range paths {
		paths[i] = strings.TrimPrefix(paths[i], ".")
	}
	slices.Sort(paths)
	slices.Sort(want)
	if diff := cmp.Diff(want, paths); diff != "" && len(want)+len(paths) > 0 {
		full := run(s.t, "", "diff", "-f", filepath.Join(dir, "git.yaml"), "--live", filepath.Join(dir, "live.yaml"), "-n", s.ns)
		s.t.Errorf("(-want +got):\n%s\n%s%s", diff, full.out, full.err)
	}
}
