package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// traps are objects that an API server hands back in another form than they were sent: defaults, quantities, nulls, empty
// maps that mean something and empty maps that do not, a kind and its first object in one directory.
const traps = `
-- app/workload.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE, creationTimestamp: null, annotations: {}}
spec:
  replicas: 1
  strategy: {}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, creationTimestamp: null}
    spec:
      securityContext: {}
      nodeSelector: null
      initContainers: [{name: init, image: "nginx:1", resources: {}}]
      containers:
      - name: web
        image: nginx:1
        command: null
        securityContext: {}
        ports: [{containerPort: 80}, {containerPort: 443, name: https}]
        env: [{name: A, value: ""}, {name: B, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "1000m"}}}]
        resources: {requests: {cpu: "1000m", memory: 1024Mi}, limits: {cpu: "2.0", memory: "1.5Gi"}}
        volumeMounts: [{name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}, {name: sized, emptyDir: {sizeLimit: 1024Mi}}]
status: {}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: NAMESPACE}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    metadata: {creationTimestamp: null}
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {requests: {cpu: 0.5}}}]}
-- app/network.yaml --
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAMESPACE}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 80}, {name: dns, port: 53, protocol: UDP}]}
status: {loadBalancer: {}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: NAMESPACE}
spec: {podSelector: {}, policyTypes: [Ingress]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: some, namespace: NAMESPACE}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{from: [{namespaceSelector: {}}], ports: [{port: 80}]}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: NAMESPACE}
spec: {rules: [{host: web.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
-- app/data.yaml --
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: NAMESPACE}
stringData: {password: hunter2, user: admin}
data: {user: b2xk}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: NAMESPACE}
data: {a: "1000m", empty: ""}
binaryData: {blob: AAECAw==}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: web, namespace: NAMESPACE}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1024Mi}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: other, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}
  minReplicas: 1
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: "0.5"}}}]
-- app/rights.yaml --
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web, namespace: NAMESPACE}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAMESPACE}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate: NAMESPACE}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAMESPACE-part, labels: {aggregate: NAMESPACE}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
-- app/kind.yaml --
apiVersion: NAMESPACE.example.com/v1
kind: Trap
metadata: {name: first, namespace: NAMESPACE}
spec: {size: 1000m, free: {nothing: {}}, filled: {}, keyed: [{name: a}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: traps.NAMESPACE.example.com, creationTimestamp: null}
spec:
  group: NAMESPACE.example.com
  names: {kind: Trap, plural: traps}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {x-kubernetes-int-or-string: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              filled: {type: object, properties: {by: {type: string, default: server}}}
              keyed: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, mode: {type: string, default: on-demand}}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
status: {acceptedNames: {kind: "", plural: ""}, conditions: [], storedVersions: []}
`

// mutators rewrite images and add a label, one as a policy in the server, one as a webhook.
var mutators = map[string]func(*world){
	"nobody":   func(*world) {},
	"a policy": mutatingPolicy,
	"a webhook": func(w *world) {
		mutatingWebhook(w)
	},
	"both": func(w *world) {
		mutatingPolicy(w)
		mutatingWebhook(w)
	},
}

func TestLongNothingIsWrittenWhereNothingDrifts(t *testing.T) {
	t.Parallel()
	for who, install := range mutators {
		t.Run("changed by "+who, func(t *testing.T) {
			w := offWorld(t, traps)
			install(w)
			stop := w.start(policy.Policy{})
			w.app("app", "./app", defaultSpec)
			w.ready("app")
			w.isMutated(who)
			w.readyTells("app", "1 field changed by admission: Deployment "+w.ns+"/web .spec.template.spec.containers[name=web].image", who != "nobody")
			w.steady("app", w.short(5, 100))
			stop()
			// A truce that remembers nothing finds nothing to do either.
			before := len(w.objectWrites())
			w.start(policy.Policy{})
			t.Cleanup(w.removeApps)
			w.steady("app", w.short(2, 20))
			w.wroteNothingSince(before)
		})
	}
}

// isMutated makes sure that the story is about something.
func (w *world) isMutated(who string) {
	w.t.Helper()
	d := w.get(deployments, "web")
	want := "nginx:1"
	if who == "a policy" || who == "both" { // policies come before webhooks
		want = "proxy.example/" + want
	}
	if who == "a webhook" || who == "both" {
		want = "mirror.example/" + want
	}
	if got := image(d); got != want {
		w.t.Fatalf("image %s, want %s", got, want)
	}
}

// steady asks for n full checks: the app stays ready, no drift is reported but what admission changes, and no object is written.
func (w *world) steady(name string, n int) {
	w.t.Helper()
	w.ready(name)
	before := len(w.objectWrites())
	seen := w.Watch(w.t, kustomizations, w.ns, name)
	w.intervals(name, n)
	for _, v := range seen.Values() {
		if r := readiness(v.Object); r != "True" {
			w.t.Errorf("Ready is %s at version %s", r, v.Object.GetResourceVersion())
		}
		if strings.Contains(fmt.Sprint(v.Object.Object["status"]), "drifted and not corrected") {
			w.t.Errorf("drift is reported where there is none: %v", v.Object.Object["status"])
		}
	}
	w.wroteNothingSince(before)
}

func (w *world) wroteNothingSince(before int) {
	w.t.Helper()
	writes := w.objectWrites()
	if len(writes) == before {
		return
	}
	for _, e := range writes[min(before, len(writes)):] {
		w.t.Logf("%s %s %s/%s by %s: %s", e.Verb, e.Resource, e.Namespace, e.Name, e.Manager, e.Request)
	}
	w.t.Errorf("%d writes where nothing drifts", len(writes)-before)
}

// mutatingPolicy makes the server itself rewrite images.
func mutatingPolicy(w *world) {
	w.t.Helper()
	w.admit("CREATE, UPDATE", `
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        object.spec.template.spec.containers[0].image.contains("proxy.example/") ? [] : [
          JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image",
            value: "proxy.example/" + object.spec.template.spec.containers[0].image}]
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{labels: {"policy.example/seen": "yes"}}}'
`)
	w.inForce("policy.example/seen")
}

// admit makes the server change Deployments of the story's namespace in these operations, by the rest of a MutatingAdmissionPolicy's spec.
func (w *world) admit(operations, spec string) {
	w.t.Helper()
	w.Apply(w.t, strings.NewReplacer("NAMESPACE", w.ns, "OPERATIONS", operations, "SPEC", strings.TrimSpace(spec)).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  reinvocationPolicy: Never
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [OPERATIONS], resources: [deployments]}]
  SPEC
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAMESPACE}
spec: {policyName: NAMESPACE}
`))
	w.remove("mutatingadmissionpolicybindings", "mutatingadmissionpolicies")
}

// inForce waits until new Deployments bear a label: the server takes up admission configuration after a moment.
func (w *world) inForce(label string) {
	w.t.Helper()
	seen := w.Watch(w.t, deployments, w.ns, "probe")
	for n := 0; ; n++ {
		w.Apply(w.t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: probe, namespace: %s, annotations: {try: "%d"}}
spec:
  replicas: 0
  selector: {matchLabels: {app: probe}}
  template: {metadata: {labels: {app: probe}}, spec: {containers: [{name: probe, image: probe}]}}
`, w.ns, n))
		if v := seen.Values(); len(v) > 0 && v[len(v)-1].Object.GetLabels()[label] != "" {
			w.kubectl("delete", "deployment/probe")
			return
		}
		if w.ctx.Err() != nil {
			w.t.Fatal("the server does not take up the mutation")
		}
	}
}
