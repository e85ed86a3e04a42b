package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view/files"
)

const longHealth = `Say of each object of a file whether it works, by its status: Healthy, Progressing, Degraded, Suspended, Missing or
Unknown. No cluster is asked. The file is what kubectl get -o yaml (or json) writes; lists are taken apart.

--rules=argocd (the default) judges built-in kinds as an Application's are judged: a load balancer and an Ingress need an address, a
Job has to complete, an autoscaler has to read its metrics. --rules=kstatus judges as a Kustomization's are: a controller has brought the
object in line with its spec. If the file holds the pods of a workload that does not work, its message begins with what they report.

Exit codes: 0 all are Healthy, 1 not all, 2 usage or an unreadable file.`

const exampleHealth = `  kubectl get deploy,sts,job -A -o yaml | truce health -f -
  truce health -f live.yaml -o json
  kubectl get deploy,pod -n shop -o yaml | truce health -f - --rules=kstatus`

func (p *program) health() *cobra.Command {
	f, by := p.adhoc(), ""
	cmd := &cobra.Command{
		Use: "health -f FILE", Short: "Judge the health of objects in a file", Long: longHealth, Example: exampleHealth, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.query.File == "" {
				return usageError("name a file with -f; - is the standard input")
			}
			if f.query.Health = health.Rules(by); f.query.Health != health.Serving && f.query.Health != health.Reconciled {
				return usageError("--rules=%s: want %s or %s", by, health.Serving, health.Reconciled)
			}
			found, err := files.AssessFiles(f.query)
			if err != nil {
				return err
			}
			return f.printHealth(found)
		},
	}
	f.file(cmd, "file of live objects")
	cmd.Flags().StringVar(&by, "rules", string(health.Serving), "whose rules: argocd (an Application's) or kstatus (a Kustomization's)")
	f.outputs(cmd, "json", "yaml", "wide")
	return cmd
}

// healthJSON is one object of `truce health`.
type healthJSON struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Message   string `json:"message"`
}

func (f *adhocFlags) printHealth(found []report.Object) error {
	worst := health.Healthy
	for _, o := range found {
		worst = health.WorstCode(worst, o.Health.Code)
	}
	if err := f.writeHealth(found); err != nil {
		return err
	}
	if worst != health.Healthy {
		return &exit.Error{Code: exit.Differs}
	}
	return nil
}

func (f *adhocFlags) writeHealth(found []report.Object) error {
	if f.output != "" && f.output != "wide" {
		items := make([]healthJSON, 0, len(found))
		for _, o := range found {
			items = append(items, healthJSON{
				Group: o.ID.Group, Version: o.Version, Kind: o.ID.Kind, Namespace: o.ID.Namespace, Name: o.ID.Name,
				Status: string(o.Health.Code), Message: o.Health.Message,
			})
		}
		return f.structured(listJSON{APIVersion: schemaVersion, Kind: "HealthList", Items: items})
	}
	t := &table{}
	head, most := plainCells("KIND", "NAME", "HEALTH", "MESSAGE"), 100
	if f.output == "wide" {
		head, most = plainCells("KIND", "NAME", "HEALTH", "FILE", "MESSAGE"), 1000
	}
	t.columns(head...)
	for _, o := range found {
		row := append(plainCells(o.ID.Kind, fullName(o.ID)), cell{string(o.Health.Code), paintHealth[o.Health.Code]})
		if f.output == "wide" {
			row = append(row, cell{text: fmt.Sprintf("%s:%d", o.File, o.Line)})
		}
		t.add(append(row, cell{text: oneLine(o.Health.Message, most)})...)
	}
	return f.printTable(t)
}
