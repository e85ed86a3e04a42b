package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/decrypt"
	"github.com/truce-gitops/truce/internal/view/files"
)

const longRender = `Print the objects that a directory describes, as truce would take them from Git: a kustomization, object
for object as kubectl kustomize builds it, or plain manifests. The files are read as they lie there, committed or not.
No cluster is asked. Bases may be anywhere in the repository; nothing outside of it is read, and nothing is fetched:
--remote-bases asks for what kustomizations name by its address: directories of git repositories, single files, and charts.
--no-private-sources and --allow-source-hosts bound the servers that are asked then.

Values of Secrets are masked; equal values have equal marks. What is masked no API server takes: to apply the output,
add --show-secrets. A Helm chart is rendered as by helm template, with its CustomResourceDefinitions and hooks; -f names files of values
then. --enable-helm renders the charts that kustomizations name (helmCharts). TRUCE_MASK_KEY makes the marks comparable from one run to another.

Exit codes: 0 rendered, 2 usage, 4 the files do not render.`

const exampleRender = `  truce render apps/web/production
  truce render . -o name
  truce render apps/web/production --show-secrets | kubectl apply --server-side -f -
  truce render charts/web -f values-prod.yaml --set image.tag=1.2.3
  helm template web ./chart | truce render -f -`

func (p *program) render() *cobra.Command {
	f := p.adhoc()
	showSecrets := false
	var chart chartFlags
	cmd := &cobra.Command{
		Use: "render PATH", Short: "Print the objects that a directory describes", Long: longRender, Example: exampleRender,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := chart.into(f, args); err != nil {
				return err
			}
			if err := f.path(args); err != nil {
				return err
			}
			rendered, err := files.RenderFiles(cmd.Context(), f.query)
			if err != nil {
				return err
			}
			objects := rendered.Objects
			p.noteEncrypted(rendered)
			if showSecrets {
				return f.printManifests(p.unmasked(objects))
			}
			masked, err := p.masked(objects)
			if err != nil {
				return err
			}
			return f.printManifests(masked)
		},
	}
	chart.add(cmd)
	remoteBases(cmd, &f.query.RemoteBases)
	f.servers.add(cmd)
	enableHelm(cmd, &f.query.EnableHelm)
	cmd.Flags().BoolVar(&showSecrets, "show-secrets", false, "print the values of Secrets")
	f.outputs(cmd, "yaml", "json", "name")
	return cmd
}

// noteEncrypted says which objects and values are printed as SOPS has encrypted them: the keys are in the cluster.
func (p *program) noteEncrypted(r files.Rendered) {
	for _, o := range r.Objects {
		if decrypt.IsEncrypted(o.Data) {
			fmt.Fprintf(p.env.Err, "note: %s:%d: %s is encrypted by SOPS, and is printed as it is: a Kustomization decrypts it with the keys of its spec.decryption\n",
				o.File, o.Line, redact.MaskText(o.Data.ShownID().String()))
		}
	}
	for _, name := range r.Encrypted {
		fmt.Fprintf(p.env.Err, "note: %s is encrypted by SOPS, and a secretGenerator reads it as it is: a Kustomization decrypts it with the keys of its spec.decryption\n", name)
	}
}

// masked hides the values of Secrets, and says so.
func (p *program) masked(objects []render.Object) ([]redact.Shown, error) {
	mask, err := p.mask()
	if err != nil {
		return nil, err
	}
	out, n := make([]redact.Shown, 0, len(objects)), 0
	for _, o := range objects {
		data, secret := mask.Object(o.Data)
		if secret {
			n++
		}
		out = append(out, data)
	}
	if n > 0 {
		fmt.Fprintf(p.env.Err, "%s masked: --show-secrets prints the values\n", pluralize(n, "Secret is", "Secrets are"))
	}
	return out, nil
}

// unmasked leaves everything as it is, and says so.
func (p *program) unmasked(objects []render.Object) []redact.Shown {
	out, n := make([]redact.Shown, 0, len(objects)), 0
	for _, o := range objects {
		if redact.IsSecret(o.Data.ID()) {
			n++
		}
		out = append(out, redact.ShowAll(o.Data))
	}
	if n > 0 {
		fmt.Fprintf(p.env.Err, "the output has the values of %s\n", pluralize(n, "Secret", "Secrets"))
	}
	return out
}

func (f *appFlags) printManifests(objects []redact.Shown) error {
	out := f.program.env.Out
	switch f.output {
	case "", "yaml":
	case "name":
		return printNames(out, objects)
	default:
		return f.structured(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	}
	for i, o := range objects {
		if i > 0 {
			if _, err := io.WriteString(out, "---\n"); err != nil {
				return err
			}
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("print %s: %w", o.Object(), err)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// printNames prints kind.group/name, as kubectl -o name does and kubectl get takes it.
func printNames(w io.Writer, objects []redact.Shown) error {
	for _, o := range objects {
		id := o.Object().ShownID()
		kind := strings.ToLower(id.Kind)
		if id.Group != "" {
			kind += "." + id.Group
		}
		if _, err := fmt.Fprintf(w, "%s/%s\n", kind, id.Name); err != nil {
			return err
		}
	}
	return nil
}
