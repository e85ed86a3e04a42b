package compare_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// TestWhatAdmissionChanged compares what was sent with what the server returned, at each path that we own.
func TestWhatAdmissionChanged(t *testing.T) {
	const workload = "apiVersion: apps/v1\nkind: Deployment\n"
	cases := map[string]struct {
		reason       string
		sent, result string
		want         []string
	}{
		"a label": {
			"another text is another value",
			workload + "metadata: {labels: {team: a}}", workload + "metadata: {labels: {team: kyverno}}",
			[]string{".metadata.labels.team: kyverno"},
		},
		"a number": {
			"another number is another value, also instead of 0",
			workload + "spec: {replicas: 0, template: {spec: {terminationGracePeriodSeconds: 1}}}",
			workload + "spec: {replicas: 5, template: {spec: {terminationGracePeriodSeconds: 77}}}",
			[]string{".spec.replicas: 5", ".spec.template.spec.terminationGracePeriodSeconds: 77"},
		},
		"a container's image": {
			"list items are compared by their keys",
			workload + "spec: {template: {spec: {containers: [{name: web, image: app:1}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: proxy, image: p:1}, {name: web, image: mirror/app:1}]}}}",
			[]string{`.spec.template.spec.containers[name=web].image: mirror/app:1`},
		},
		"a container that is gone": {
			"the item stands for what is in it",
			workload + "spec: {template: {spec: {containers: [{name: web, image: app:1}, {name: debug, image: d:1}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, image: app:1}]}}}",
			[]string{`.spec.template.spec.containers[name=debug]: <nil>`},
		},
		"a node selector": {
			"an atomic map holds what was sent and nothing else",
			workload + "spec: {template: {spec: {nodeSelector: {disk: ssd}}}}",
			workload + "spec: {template: {spec: {nodeSelector: {disk: ssd, zone: a}}}}",
			[]string{".spec.template.spec.nodeSelector: map[disk:ssd zone:a]"},
		},
		"arguments": {
			"an atomic list has as many items as were sent",
			workload + "spec: {template: {spec: {containers: [{name: web, args: [a]}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, args: [a, b]}]}}}",
			[]string{`.spec.template.spec.containers[name=web].args: [a b]`},
		},
		"an argument that looks like a quantity": {
			"texts are compared as texts",
			workload + "spec: {template: {spec: {containers: [{name: web, args: ['1']}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, args: ['1000m']}]}}}",
			[]string{`.spec.template.spec.containers[name=web].args: [1000m]`},
		},
		"quantities": {
			"the same quantity in another form is the same value",
			workload + "spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: 1, memory: 1024Mi}}}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: '1', memory: 1Gi}}}]}}}",
			nil,
		},
		"defaults inside an atomic list": {
			"what the server adds beside is no change of what was sent",
			"apiVersion: apps/v1\nkind: StatefulSet\nspec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 1024Mi}}}}]}",
			"apiVersion: apps/v1\nkind: StatefulSet\nspec: {volumeClaimTemplates: [{kind: PersistentVolumeClaim, metadata: {name: d}, spec: {volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}]}",
			nil,
		},
		"zero values": {
			"the server omits false, 0 and the empty text where they are no pointers",
			workload + "spec: {paused: false, minReadySeconds: 0, template: {spec: {hostNetwork: false, containers: [{name: web, env: [{name: A, value: ''}]}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, env: [{name: A}]}]}}}",
			nil,
		},
		"an empty record": {
			"the server may leave it out, as it does here",
			"apiVersion: v1\nkind: Service\nspec: {sessionAffinityConfig: {}, ports: [{port: 80}]}",
			"apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80, protocol: TCP, targetPort: 80}], sessionAffinity: None}",
			nil,
		},
		"a pointer that is gone": {
			"false and 0 of a pointer are values",
			workload + "spec: {template: {spec: {automountServiceAccountToken: false, securityContext: {runAsUser: 0}}}}",
			workload + "spec: {template: {spec: {}}}",
			[]string{".spec.template.spec.automountServiceAccountToken: <nil>", ".spec.template.spec.securityContext.runAsUser: <nil>"},
		},
		"allocated numbers": {
			"0 asks the server for a port",
			"apiVersion: v1\nkind: Service\nspec: {clusterIP: '', ports: [{port: 80, protocol: TCP, nodePort: 0}]}",
			"apiVersion: v1\nkind: Service\nspec: {clusterIP: 10.0.0.1, ports: [{port: 80, protocol: TCP, nodePort: 30123}]}",
			nil,
		},
		"a custom resource": {
			"it is stored as it was sent",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {size: 0, cpu: '1', name: ''}",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {cpu: 1000m, name: web}",
			[]string{".spec.cpu: 1000m", ".spec.name: web", ".spec.size: <nil>"},
		},
		"quantities inside an atomic list": {
			"a value that has no name beside it is no environment variable",
			"apiVersion: v1\nkind: ResourceSlice\nspec: {volumeClaimTemplates: [{capacity: {memory: {value: 1024Mi}}}]}",
			"apiVersion: v1\nkind: ResourceSlice\nspec: {volumeClaimTemplates: [{capacity: {memory: {value: 1Gi}}}]}",
			nil,
		},
		"times and base64": {
			"the server writes both in a form of its own",
			"apiVersion: coordination.k8s.io/v1\nkind: Lease\nspec: {renewTime: '2026-01-01T00:00:00Z', caBundle: \"YWJj\\nZGVm\"}",
			"apiVersion: coordination.k8s.io/v1\nkind: Lease\nspec: {renewTime: '2026-01-01T00:00:00.000000Z', caBundle: YWJjZGVm}",
			nil,
		},
		"texts of a custom resource": {
			"the server knows no durations, quantities, times or base64 in them, and stores what was sent",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {wait: 60s, cpu: '0.5', at: '2026-01-01T00:00:00Z', ca: \"YWJj\\n\", note: '', port: '80', flag: false, text: \"a\\r\\nb\"}",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {wait: 1m0s, cpu: 500m, at: '2026-01-01T00:00:00.0Z', ca: YWJj, port: 80, text: \"a\\nb\"}",
			[]string{
				".spec.at: 2026-01-01T00:00:00.0Z", ".spec.ca: YWJj", ".spec.cpu: 500m", ".spec.flag: <nil>", ".spec.note: <nil>", ".spec.port: 80",
				".spec.text: a\nb", ".spec.wait: 1m0s",
			},
		},
		"whole floats of a custom resource": {
			"JSON has one kind of number",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {a: 1.0, b: 2, c: 0.5}",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {a: 1, b: 2.0, c: 0.25}",
			[]string{".spec.c: 0.25"},
		},
		"a quantity with a fraction": {
			"half a CPU is 500m, and not 50m",
			workload + "spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: '0.5'}, requests: {cpu: 0.5, memory: '0.5'}}}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: 500m}, requests: {cpu: 50m, memory: 500m}}}]}}}",
			[]string{".spec.template.spec.containers[name=web].resources.requests.cpu: 50m"},
		},
		"a number or a text": {
			"a port's number is another one than its name",
			workload + "spec: {strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 25%}}}",
			workload + "spec: {strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}}",
			[]string{".spec.strategy.rollingUpdate.maxSurge: 25%", ".spec.strategy.rollingUpdate.maxUnavailable: 1"},
		},
		"line ends in texts": {
			"no rule of the API rewrites the texts of a ConfigMap, of annotations and of arguments",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {annotations: {x: \"a\\r\\nb\"}}\ndata: {k: \"a\\n\", q: '1', v: YQ==}",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {annotations: {x: \"a\\nb\"}}\ndata: {k: a, q: 1000m, v: \"YQ==\\n\"}",
			[]string{".data.k: a", ".data.q: 1000m", ".data.v: YQ==\n", ".metadata.annotations.x: a\nb"},
		},
		"bytes": {
			"line breaks in base64 say nothing; other bytes do",
			"apiVersion: v1\nkind: ConfigMap\nbinaryData: {a: \"YWJj\\r\\nZGVm\\n\", b: YWJj}",
			"apiVersion: v1\nkind: ConfigMap\nbinaryData: {a: YWJjZGVm, b: YWJk}",
			[]string{".binaryData.b: YWJk"},
		},
		"a text with a line break that is no base64": {
			"only base64 may have other line breaks",
			"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\ndescription: \"two lines\\n\"",
			"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\ndescription: two lines",
			[]string{".description: two lines"},
		},
		"the defaults of 0": {
			"0 asks for the default; another number is another value",
			workload + "spec: {template: {spec: {containers: [{name: web, livenessProbe: {initialDelaySeconds: 0, timeoutSeconds: 0, periodSeconds: 0}}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, livenessProbe: {timeoutSeconds: 1, periodSeconds: 77}}]}}}",
			[]string{".spec.template.spec.containers[name=web].livenessProbe.periodSeconds: 77"},
		},
		"an empty text": {
			"it asks for the default, but where it says none",
			"apiVersion: v1\nkind: PersistentVolumeClaim\nspec: {storageClassName: '', volumeMode: ''}",
			"apiVersion: v1\nkind: PersistentVolumeClaim\nspec: {storageClassName: fast, volumeMode: Filesystem}",
			[]string{".spec.storageClassName: fast"},
		},
		"an empty selector": {
			"it selects everything, and has one owner as a whole",
			"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nspec: {podSelector: {}}",
			"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nspec: {podSelector: {matchLabels: {app: a}}}",
			[]string{".spec.podSelector: map[matchLabels:map[app:a]]"},
		},
		"a selector with more terms": {
			"it selects less",
			"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nspec: {podSelector: {matchLabels: {app: a}}}",
			"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nspec: {podSelector: {matchLabels: {app: a}, matchExpressions: [{key: b, operator: Exists}]}}",
			[]string{".spec.podSelector: map[matchExpressions:[map[key:b operator:Exists]] matchLabels:map[app:a]]"},
		},
		"empty maps": {
			"they say that the map is there: what others put into it is not about them",
			workload + "metadata: {labels: {}}\nspec: {strategy: {}, template: {spec: {volumes: [{name: a, emptyDir: {}}]}}}",
			workload + "metadata: {labels: {by: other}}\nspec: {strategy: {type: RollingUpdate}, template: {spec: {volumes: [{name: a, emptyDir: {sizeLimit: 1Gi}}]}}}",
			nil,
		},
		"a key that the list's key has by default": {
			"protocol: TCP is found though the manifest leaves it out",
			"apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80, targetPort: 8080}]}",
			"apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80, protocol: TCP, targetPort: 9090}]}",
			[]string{".spec.ports[port=80,protocol=TCP].targetPort: 9090"},
		},
		"another order": {
			"a list by keys and a set have none; in an atomic list each place counts",
			workload + "metadata: {finalizers: [x/a, x/b]}\nspec: {template: {spec: {containers: [{name: web, image: a, args: [a, b]}, {name: log, image: b}]}}}",
			workload + "metadata: {finalizers: [x/b, x/a]}\nspec: {template: {spec: {containers: [{name: log, image: b}, {name: web, image: a, args: [b, a]}]}}}",
			[]string{".spec.template.spec.containers[name=web].args: [b a]"},
		},
		"addresses of Endpoints": {
			"the server sorts them; those of a custom resource keep their order",
			"apiVersion: v1\nkind: Endpoints\nspec: {subsets: [{addresses: [{ip: 10.0.0.2}, {ip: 10.0.0.1}]}]}",
			"apiVersion: v1\nkind: Endpoints\nspec: {subsets: [{addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]}]}",
			nil,
		},
		"an address more": {
			"only the order of addresses is the server's",
			"apiVersion: v1\nkind: Endpoints\nspec: {subsets: [{addresses: [{ip: 10.0.0.2}]}]}",
			"apiVersion: v1\nkind: Endpoints\nspec: {subsets: [{addresses: [{ip: 10.0.0.2}, {ip: 10.0.0.3}]}]}",
			[]string{".spec.subsets: [map[addresses:[map[ip:10.0.0.2] map[ip:10.0.0.3]]]]"},
		},
		"another address": {
			"the first sorted into another place, the second replaced",
			"apiVersion: v1\nkind: Endpoints\nspec: {subsets: [{addresses: [{ip: 10.0.0.2}, {ip: 10.0.0.1}]}]}",
			"apiVersion: v1\nkind: Endpoints\nspec: {subsets: [{addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.3}]}]}",
			[]string{".spec.subsets: [map[addresses:[map[ip:10.0.0.1] map[ip:10.0.0.3]]]]"},
		},
		"subsets of a custom resource": {
			"its lists are stored as they were sent",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {subsets: [1, 2]}",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {subsets: [2, 1]}",
			[]string{".spec.subsets: [2 1]"},
		},
		"a toleration": {
			"the value beside a key is a text",
			workload + "spec: {template: {spec: {tolerations: [{key: a, value: '1'}]}}}",
			workload + "spec: {template: {spec: {tolerations: [{key: a, value: 1000m}]}}}",
			[]string{".spec.template.spec.tolerations: [map[key:a value:1000m]]"},
		},
		"an environment variable": {
			"its value is a text",
			workload + "spec: {template: {spec: {containers: [{name: web, env: [{name: A, value: '1'}, {name: B, value: b}]}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, env: [{name: A, value: 1000m}, {name: B}]}]}}}",
			[]string{".spec.template.spec.containers[name=web].env[name=A].value: 1000m", ".spec.template.spec.containers[name=web].env[name=B].value: <nil>"},
		},
		"an empty label that is gone": {
			"a label without text is a label",
			workload + "metadata: {labels: {a: ''}}", workload + "metadata: {labels: {}}",
			[]string{".metadata.labels.a: <nil>"},
		},
		"another time": {
			"the same form does not make the same time",
			"apiVersion: coordination.k8s.io/v1\nkind: Lease\nspec: {renewTime: '2026-01-01T00:00:00Z', acquireTime: never}",
			"apiVersion: coordination.k8s.io/v1\nkind: Lease\nspec: {renewTime: '2026-01-01T00:00:01.000000Z', acquireTime: '2026-01-01T00:00:00Z'}",
			[]string{".spec.acquireTime: 2026-01-01T00:00:00Z", ".spec.renewTime: 2026-01-01T00:00:01.000000Z"},
		},
		"tolerations that each pod gets": {
			"the server adds two where Git names none for their taints",
			"apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: a}]}",
			"apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: a}, {key: node.kubernetes.io/not-ready, effect: NoExecute, tolerationSeconds: 300}, {key: node.kubernetes.io/unreachable, effect: NoExecute, tolerationSeconds: 300}]}",
			nil,
		},
		"a toleration that Git names": {
			"it is Git's then, with its seconds",
			"apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: node.kubernetes.io/not-ready, effect: NoExecute, tolerationSeconds: 3}]}",
			"apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: node.kubernetes.io/not-ready, effect: NoExecute, tolerationSeconds: 300}]}",
			[]string{".spec.tolerations: [map[effect:NoExecute key:node.kubernetes.io/not-ready tolerationSeconds:300]]"},
		},
		"one of two tolerations that each pod gets": {
			"the server adds the other one",
			"apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: node.kubernetes.io/not-ready, effect: NoExecute, tolerationSeconds: 3}]}",
			"apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: node.kubernetes.io/not-ready, effect: NoExecute, tolerationSeconds: 3}, {key: node.kubernetes.io/unreachable, effect: NoExecute}]}",
			nil,
		},
		"tolerations of a custom resource": {
			"no admission of the server's adds to them",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {tolerations: [{key: a}]}",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {tolerations: [{key: a}, {key: node.kubernetes.io/not-ready, effect: NoExecute}]}",
			[]string{".spec.tolerations: [map[key:a] map[effect:NoExecute key:node.kubernetes.io/not-ready]]"},
		},
		"another list": {
			"what looks like such a toleration is one in a list of them alone",
			workload + "spec: {volumeClaimTemplates: [{key: a}]}",
			workload + "spec: {volumeClaimTemplates: [{key: a}, {key: node.kubernetes.io/not-ready, effect: NoExecute}]}",
			[]string{".spec.volumeClaimTemplates: [map[key:a] map[effect:NoExecute key:node.kubernetes.io/not-ready]]"},
		},
		"a toleration of another taint": {
			"only two are the server's",
			"apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: a}]}",
			"apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: a}, {key: b, effect: NoExecute}]}",
			[]string{".spec.tolerations: [map[key:a] map[effect:NoExecute key:b]]"},
		},
		"another toleration more": {
			"only two are the server's",
			"apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: a}]}",
			"apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: a}, {key: node.kubernetes.io/not-ready, effect: NoSchedule}]}",
			[]string{".spec.tolerations: [map[key:a] map[effect:NoSchedule key:node.kubernetes.io/not-ready]]"},
		},
		"empty lists": {
			"they are left out of Kubernetes' own kinds, CRDs and claims for devices among them",
			"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {names: {shortNames: [], categories: [all]}}",
			"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {names: {}}",
			[]string{".spec.names.categories: <nil>"},
		},
		"an empty list of a custom resource": {
			"it is stored",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {names: []}", "apiVersion: example.com/v1\nkind: Widget\nspec: {}",
			[]string{".spec.names: <nil>"},
		},
		"a volume of no class": {
			"the server leaves the empty text out",
			"apiVersion: v1\nkind: PersistentVolume\nspec: {storageClassName: ''}", "apiVersion: v1\nkind: PersistentVolume\nspec: {}",
			nil,
		},
		"values that are gone": {
			"the server leaves out the empty text, false and 0, and no other value",
			workload + "spec: {minReadySeconds: 5, paused: true, template: {spec: {schedulerName: mine, hostname: ''}}}",
			workload + "spec: {template: {spec: {}}}",
			[]string{".spec.minReadySeconds: <nil>", ".spec.paused: <nil>", ".spec.template.spec.schedulerName: <nil>"},
		},
		"a port that Git chooses": {
			"only 0 asks the server for one",
			"apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80, nodePort: 30001}]}",
			"apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80, protocol: TCP, nodePort: 30123}]}",
			[]string{".spec.ports[port=80,protocol=TCP].nodePort: 30123"},
		},
		"texts inside an atomic list": {
			"labels and the value of what has a name are texts there too",
			workload + "spec: {volumeClaimTemplates: [{metadata: {labels: {a: '1'}}}], template: {spec: {tolerations: [{name: a, value: '1'}]}}}",
			workload + "spec: {volumeClaimTemplates: [{metadata: {labels: {a: 1000m}}}], template: {spec: {tolerations: [{name: a, value: 1000m}]}}}",
			[]string{".spec.template.spec.tolerations: [map[name:a value:1000m]]", ".spec.volumeClaimTemplates: [map[metadata:map[labels:map[a:1000m]]]]"},
		},
		"a quantity that is called value": {
			"it is no part of a list",
			"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nspec: {target: {value: '1', averageValue: 0.5}}",
			"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nspec: {target: {value: 1000m, averageValue: 500m}}",
			nil,
		},
		"another form": {
			"a text is no list, a list no map, and 1 is not true",
			workload + "spec: {paused: true, template: {spec: {nodeSelector: {a: b}, tolerations: [{key: a}]}}}",
			workload + "spec: {paused: 1, template: {spec: {nodeSelector: [a], tolerations: {key: a}}}}",
			[]string{".spec.paused: 1", ".spec.template.spec.nodeSelector: [a]", ".spec.template.spec.tolerations: map[key:a]"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			git, result := given.Object(t, c.sent), given.Object(t, c.result)
			owners := ownersOf(t, git)
			h := ownership.NewHasher()
			answer := compare.ApplyResult{Sent: git, Result: result, Owners: owners, Native: git.GVK().Group != "example.com"}
			r, err := compare.CompareObject(compare.Input{
				Desired: git, Live: result, Owners: owners, Baseline: answer.Baseline(h), Hasher: h, Native: answer.Native,
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, printed(t, r.Differences)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestAFieldThatIsRestored is equal to Git whatever the last apply left there.
func TestAFieldThatIsRestored(t *testing.T) {
	git := given.Object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {team: a}}")
	mutated := given.Object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {team: b}}")
	owners, h := ownersOf(t, git), ownership.NewHasher()
	in := compare.Input{
		Desired: git, Live: git, Owners: owners, Hasher: h, Native: true,
		Baseline: compare.ApplyResult{Sent: git, Result: mutated, Owners: owners, Native: true}.Baseline(h),
	}
	if !in.Baseline.Mutated() {
		t.Fatal("the answer differs from what was sent")
	}
	r, err := compare.CompareObject(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Differences) > 0 {
		t.Errorf("the field holds Git's value: %v", r.Differences)
	}
	in.Live = given.Object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {team: c}}")
	if r, err = compare.CompareObject(in); err != nil {
		t.Fatal(err)
	}
	if len(r.Differences) != 1 || r.Differences[0].Kind != compare.Changed {
		t.Errorf("a third value is drift: %v", r.Differences)
	}
}

// TestAFieldOfAnotherThatAdmissionChanges is no difference of ours: an ignore rule or a claim withholds it.
func TestAFieldOfAnotherThatAdmissionChanges(t *testing.T) {
	git := given.Object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {team: a}}\nspec: {nodeSelector: {disk: ssd, zone: a}}")
	mutated := given.Object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {team: b}}\nspec: {nodeSelector: {disk: ssd, zone: b}}")
	for name, c := range map[string]struct {
		withheld []field.Path
		want     []string
	}{
		"none":                   {nil, []string{".metadata.labels.team: b", ".spec.nodeSelector: map[disk:ssd zone:b]"}},
		"the label":              {[]field.Path{field.NewPath("metadata", "labels")}, []string{".spec.nodeSelector: map[disk:ssd zone:b]"}},
		"a part of the selector": {[]field.Path{field.NewPath("metadata"), field.NewPath("spec", "nodeSelector", "zone")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			owners, h := ownersOf(t, git), ownership.NewHasher()
			baseline := compare.ApplyResult{Sent: git, Result: mutated, Owners: owners, Native: true}.Baseline(h)
			r, err := compare.CompareObject(compare.Input{Desired: git, Live: mutated, Owners: owners, Hasher: h, Native: true, Baseline: baseline, Withheld: c.withheld})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range r.Differences {
				if d.Kind == compare.Mutated {
					got = append(got, field.PathString(d.Path)+": "+fmt.Sprint(d.Live.Reveal()))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAdmissionThatADryRunMeets is reported field by field, and only where live does not hold Git's value.
func TestAdmissionThatADryRunMeets(t *testing.T) {
	const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: b}\n"
	for name, c := range map[string]struct {
		reason              string
		git, expected, live string
		want                []string
	}{
		"an image": {
			"the container is there, its image is not Git's",
			"spec: {containers: [{name: web, image: a, args: [x]}]}", "spec: {containers: [{name: web, image: mirror/a, args: [x]}]}", "spec: {containers: [{name: web, image: mirror/a, args: [x]}]}",
			[]string{"mutated .spec.containers[name=web].image"},
		},
		"a container": {
			"the item stands for what is in it",
			"spec: {containers: [{name: web, image: a}, {name: log, image: b}]}", "spec: {containers: [{name: web, image: a}]}", "spec: {containers: [{name: web, image: a}]}",
			[]string{"mutated .spec.containers[name=log]"},
		},
		"a field that live holds": {
			"an apply would take Git's value away, and none is needed",
			"spec: {paused: true}", "spec: {paused: false}", "spec: {paused: true}",
			nil,
		},
		"a container that live holds": {
			"admission would take it out of another apply",
			"spec: {containers: [{name: web, image: a}, {name: log, image: b}]}", "spec: {containers: [{name: web, image: a}]}", "spec: {containers: [{name: web, image: a}, {name: log, image: b}]}",
			nil,
		},
		"another default inside": {
			"Git's part is as it was sent, and live differs from what an apply leaves",
			"spec: {volumeClaimTemplates: [{spec: {a: b}}]}", "spec: {volumeClaimTemplates: [{spec: {a: b, volumeMode: Filesystem}}]}", "spec: {volumeClaimTemplates: [{spec: {a: b, volumeMode: Block}}]}",
			[]string{"changed .spec.volumeClaimTemplates"},
		},
		"another form": {
			"the same value is no change",
			"spec: {limits: {cpu: '1'}}", "spec: {limits: {cpu: 1000m}}", "spec: {limits: {cpu: 1000m}}",
			nil,
		},
		"drift": {
			"what an apply brings is drift, and no admission",
			"spec: {replicas: 3}", "spec: {replicas: 3}", "spec: {replicas: 5}",
			[]string{"changed .spec.replicas"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			git, expected, live := given.Object(t, head+c.git), given.Object(t, head+c.expected), given.Object(t, head+c.live)
			in := compare.Pair{Desired: git, Expected: expected, Live: live, Native: true, Schema: ownersOf(t, git)}
			if diff := cmp.Diff(c.want, paths(compare.CompareWithoutBaseline(in).Differences), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// ownersOf returns the entry that an apply of all of an object's fields leaves.
func ownersOf(t *testing.T, git object.Object) []ownership.Entry {
	t.Helper()
	o := object.Object{"metadata": map[string]any{"managedFields": []any{map[string]any{
		"manager": ownership.Manager, "operation": "Apply", "apiVersion": git.APIVersion(), "fieldsV1": fieldsOf(git),
	}}}}
	owners, err := ownership.Entries(o)
	if err != nil {
		t.Fatal(err)
	}
	return owners
}

func fieldsOf(git object.Object) map[string]any {
	out := map[string]any{}
	for name, v := range git {
		if name != "apiVersion" && name != "kind" {
			out["f:"+name] = fieldsIn(name, v)
		}
	}
	return out
}

// atomic are the fields of the cases above that have one owner as a whole.
var atomic = map[string]bool{
	"nodeSelector": true, "args": true, "volumeClaimTemplates": true, "podSelector": true, "tolerations": true, "subsets": true,
}

func fieldsIn(name string, v any) map[string]any {
	out := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		if atomic[name] {
			return out
		}
		for k, c := range v {
			out["f:"+k] = fieldsIn(k, c)
		}
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok && name == "finalizers" {
				out[`v:"`+text+`"`] = map[string]any{}
				continue
			}
			m, ok := item.(map[string]any)
			if !ok || atomic[name] {
				return map[string]any{}
			}
			key := `k:{"port":80,"protocol":"TCP"}`
			if n, ok := m["name"].(string); ok {
				key = `k:{"name":"` + n + `"}`
			}
			fields := fieldsIn("", m)
			fields["."] = map[string]any{}
			out[key] = fields
		}
	}
	return out
}

func printed(t *testing.T, all []compare.Difference) []string {
	t.Helper()
	var out []string
	for _, d := range all {
		if d.Kind != compare.Mutated {
			t.Errorf("%s is %s", field.PathString(d.Path), d.Kind)
		}
		out = append(out, field.PathString(d.Path)+": "+fmt.Sprint(d.Live.Reveal()))
	}
	return out
}
