package openapi_test

// rich are manifests with as many different fields as people write.
const rich = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: rich, namespace: NS}
spec:
  replicas: 0
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 25%}}
  selector: {matchExpressions: [{key: a, operator: In, values: [b]}]}
  template:
    metadata: {labels: {a: b}, annotations: {x: "1"}}
    spec:
      securityContext: {runAsUser: 1000, fsGroup: 1, seccompProfile: {type: RuntimeDefault}}
      affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {a: b}}}}]}}
      tolerations: [{key: x, operator: Exists, tolerationSeconds: 5, effect: NoExecute}]
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}]
      volumes:
      - {name: a, emptyDir: {sizeLimit: 1Gi}}
      - {name: b, configMap: {name: x, items: [{key: a, path: b, mode: 420}], optional: true}}
      - {name: c, projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 3600}}, {downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}]}}
      initContainers: [{name: i, image: x, restartPolicy: Always}]
      containers:
      - name: c
        image: x
        args: ["-v"]
        env: [{name: A, value: b}, {name: B, valueFrom: {secretKeyRef: {name: x, key: k}}}, {name: D, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}]
        envFrom: [{configMapRef: {name: x}, prefix: P_}]
        ports: [{containerPort: 80, name: http}, {containerPort: 80, protocol: UDP}]
        resources: {requests: {cpu: 0.5, memory: 1e6}, limits: {cpu: 2, memory: 1Gi}}
        livenessProbe: {httpGet: {path: /, port: http, httpHeaders: [{name: a, value: b}]}, periodSeconds: 5}
        readinessProbe: {tcpSocket: {port: 80}}
        startupProbe: {grpc: {port: 80}}
        lifecycle: {preStop: {exec: {command: [sleep, "1"]}}}
        securityContext: {capabilities: {drop: [ALL]}, readOnlyRootFilesystem: true}
        volumeMounts: [{name: a, mountPath: /a, subPath: x, readOnly: true}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: rich, namespace: NS}
spec:
  replicas: 0
  serviceName: rich
  selector: {matchLabels: {c: d}}
  template: {metadata: {labels: {c: d}}, spec: {containers: [{name: c, image: x}]}}
  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: rich, namespace: NS}, spec: {schedule: "1 1 1 1 *", suspend: true, jobTemplate: {spec: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: rich, namespace: NS}, spec: {selector: {a: b}, ports: [{name: a, port: 80, targetPort: http}, {name: b, port: 81, targetPort: 8080, protocol: UDP}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: rich, namespace: NS}, type: Opaque, data: {a: aGVsbG8=}, immutable: true}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: rich, namespace: NS}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: rich, namespace: NS}, spec: {hard: {pods: 50, requests.cpu: "100"}}}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: rich, namespace: NS}, spec: {limits: [{type: Container, default: {cpu: 1}}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: rich, namespace: NS}, spec: {ingressClassName: x, tls: [{hosts: [a.example], secretName: x}], rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: rich, port: {name: a}}}}]}}]}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: rich, namespace: NS}, spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 80}, {port: http}]}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: rich, namespace: NS}, spec: {maxUnavailable: 30%, selector: {matchLabels: {a: b}}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: rich, namespace: NS}, spec: {minReplicas: 1, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: rich}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}], behavior: {scaleDown: {policies: [{type: Percent, value: 10, periodSeconds: 60}]}}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: rich, namespace: NS}, rules: [{apiGroups: [""], resources: [pods], verbs: [get], resourceNames: [x]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: rich, namespace: NS}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: rich}, subjects: [{kind: ServiceAccount, name: default, namespace: NS}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: riches.validate.example.com}
spec:
  group: validate.example.com
  scope: Cluster
  names: {plural: riches, singular: rich, kind: Rich, listKind: RichList}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: a, type: string, jsonPath: .spec.a}]
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string, default: x}, n: {type: number, enum: [1, 2.5]}, deep: {type: array, items: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}}}}}}}
`
