package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/view/resource"
)

const longExport = `Print custom resources as YAML that can be written into Git: apiVersion, kind, name, namespace, labels, annotations and spec,
without a status and without what a server or a request has added. Secrets that they name are not printed, and credentials in an
address are masked: they do not belong into Git.

Exit codes: 0 printed, 2 usage, 3 the cluster cannot be reached or refuses, or has none of that name.`

const exampleExport = `  truce export kustomization web -n flux-system > web.yaml
  truce export source git --all -n flux-system > sources.yaml`

type exportFlags struct {
	*verb
	all bool
}

func (p *program) export() *cobra.Command {
	e := &exportFlags{verb: p.newVerb(&cobra.Command{Use: "export", Short: "Print sources and apps as YAML for Git", Long: longExport, Example: exampleExport})}
	e.allNamespaces()
	e.cmd.PersistentFlags().BoolVar(&e.all, "all", false, "all of the namespace")
	e.addKinds(e, anyKind)
	return e.cmd
}

func (e *exportFlags) forKind(k resource.Kind) *cobra.Command {
	cmd := &cobra.Command{Use: k.Words()[len(k.Words())-1] + " [NAME...]", Short: "Print " + k.Plural + " as YAML"}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) == 0) != (e.all || e.everyNS) {
			return usageError("name one or more %s, or all of the namespace with --all", k.Plural)
		}
		return e.connected(cmd.Context(), func(c *Cluster) error { return e.run(cmd.Context(), c, k, args) })
	}
	e.outputs(cmd, "yaml", "json")
	return cmd
}

func (e *exportFlags) run(ctx context.Context, c *Cluster, k resource.Kind, names []string) error {
	found, err := e.namedResources(ctx, c, k, names)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		ns, err := e.namespace()
		if err != nil {
			return err
		}
		return &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("no %s in %s", k.Plural, placeOfNamespace(ns))}
	}
	if e.output == "" {
		e.output = "yaml"
	}
	for _, x := range found {
		if e.output == "yaml" {
			fmt.Fprintln(e.program.env.Out, "---")
		}
		if err := e.structured(exported(x.Object)); err != nil {
			return err
		}
	}
	return nil
}

// unexported are annotations of requests, and of a last kubectl apply.
var unexported = []string{"reconcile.fluxcd.io/requestedAt", "reconcile.fluxcd.io/forceAt", "reconcile.fluxcd.io/resetAt", "kubectl.kubernetes.io/last-applied-configuration"}

// exported is what Git can say of a custom resource.
func exported(o object.Object) object.Object {
	o = o.Clone()
	meta := map[string]any{"name": o.Name()}
	if o.Namespace() != "" {
		meta["namespace"] = o.Namespace()
	}
	for _, part := range []string{"labels", "annotations"} {
		values, _ := o.At("metadata", part).(map[string]any)
		for _, key := range unexported {
			delete(values, key)
		}
		if len(values) > 0 {
			meta[part] = values
		}
	}
	return object.Object{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": meta, "spec": withoutCredentials(o["spec"])}
}

// shownResource is a custom resource as kubectl get shows it, without the credentials of addresses.
func shownResource(o object.Object) any {
	o = o.Clone()
	delete(o.Metadata(), "managedFields")
	if notes, ok := o.At("metadata", "annotations").(map[string]any); ok {
		delete(notes, "kubectl.kubernetes.io/last-applied-configuration")
	}
	return withoutCredentials(map[string]any(o))
}

// withoutCredentials masks the credentials in the addresses of a spec, in place.
func withoutCredentials(spec any) any {
	switch spec := spec.(type) {
	case map[string]any:
		for key, v := range spec {
			if text, ok := v.(string); ok && (key == "url" || key == "repoURL") {
				spec[key] = redact.MaskText(text)
				continue
			}
			withoutCredentials(v)
		}
	case []any:
		for _, v := range spec {
			withoutCredentials(v)
		}
	}
	return spec
}
