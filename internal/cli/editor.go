package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/deploy"
	"github.com/truce-gitops/truce/internal/model/crdschema"
)

const longSchema = `Print a JSON Schema (draft 7) of the custom resources that truce reads, made of the CRDs that it installs: one
of a kind, or one that takes all of them. Editors check and complete with it what is being written; unlike the
API server, which drops a field that it does not know without a word, they mark it.

--dir writes one file for each kind, and all.json. An editor finds it by the first line of a manifest

  # yaml-language-server: $schema=../schemas/all.json

or by its settings, such as yaml.schemas of the YAML extension of VS Code:

  "yaml.schemas": {"schemas/all.json": ["clusters/**/*.yaml"]}

The names of the files are those that kubeconform looks for with
-schema-location 'schemas/{{ .ResourceKind }}-{{ .GroupFirst }}-{{ .ResourceAPIVersion }}.json'`

const exampleSchema = `  truce schema > schemas/all.json
  truce schema kustomization
  truce schema --dir schemas`

// schemas is `truce schema`.
func (p *program) schemas() *cobra.Command {
	f := &appFlags{program: p, config: kubectlFlags()}
	dir := ""
	cmd := &cobra.Command{
		Use: "schema [KIND]", Short: "Print JSON Schemas of the custom resources, for editors", Long: longSchema, Example: exampleSchema,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := crdschema.ReadSchemas(deploy.CRDs)
			if err != nil {
				return fmt.Errorf("read the CRDs: %w", err)
			}
			switch {
			case len(args) > 1 || len(args) == 1 && dir != "":
				return usageError("name one KIND, or none with --dir")
			case dir != "":
				return p.writeSchemas(dir, all)
			case len(args) == 0:
				return f.structured(crdschema.AnyOfSchemas(all))
			}
			return f.oneSchema(all, args[0])
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			all, err := crdschema.ReadSchemas(deploy.CRDs)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, s := range all {
				names = append(names, s.Names[0])
			}
			return filterPrefix(names, begun), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write a file for each kind, and all.json, into this directory")
	f.outputs(cmd, "json", "yaml")
	return cmd
}

func (f *appFlags) oneSchema(all []crdschema.Schema, kind string) error {
	word, group, _ := strings.Cut(strings.ToLower(kind), ".")
	var known []string
	for _, s := range all {
		if slices.Contains(s.Names, word) && (group == "" || group == s.GVK.Group) {
			return f.structured(s.JSON)
		}
		known = append(known, s.Names[0])
	}
	return usageError("%q: truce has no schema of such a kind, but of %s", kind, strings.Join(known, ", "))
}

// writeSchemas writes the files, and says which.
func (p *program) writeSchemas(dir string, all []crdschema.Schema) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usageError("--dir: %w", err)
	}
	files := map[string]any{"all.json": crdschema.AnyOfSchemas(all)}
	for _, s := range all {
		files[s.File()] = s.JSON
	}
	for name, content := range files {
		if err := writeJSON(filepath.Join(dir, name), content); err != nil {
			return usageError("--dir: %w", err)
		}
	}
	fmt.Fprintf(p.env.Err, "%s in %s\n", pluralize(len(files), "schema", "schemas"), dir)
	return nil
}

func writeJSON(path string, v any) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := writeStructured(file, "json", v); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
