// Package preflight answers: is anything in the way of truce in this cluster?
//
// In: facts about the cluster, about the installed controller if there is one, and about this machine.
// Out: a finding for each fact: whether it is as it should be, and what to do where it is not.
// Promise: pure; what could not be read is a finding, and never counts as good.
// Not here: gathering facts (view), printing findings (cli).
package preflight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/permissions"
)

// Severity says how much a finding matters.
type Severity string

// The severities. Only a Problem fails a check.
const (
	OK      Severity = "ok"
	Notice  Severity = "notice"
	Warning Severity = "warning"
	Problem Severity = "problem"
)

// Finding is what one check has found out about one subject.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject,omitempty"`
	Message  string   `json:"message"`
	Fix      string   `json:"fix,omitempty"`
}

// Facts are what the checks judge.
type Facts struct {
	// Server is the API server's version.
	Server string
	// Installed is the controller's Deployment; nil where there is none.
	Installed *Installation
	// Permissions are those that were asked for, of the controller's account, or of the user who would install one.
	Permissions []Permission
	Definitions []Definition
	Clocks      []Clock
	Git         Git
	Overlaps    []Overlap
	// SharedStates are Deployments that are in each other's way.
	SharedStates []SharedState
	Others       []Other
	Apps         []App
	Webhooks     []Webhook
	// Unread are checks whose facts could not be read, and why.
	Unread map[string]string
}

// Installation is a controller that a Deployment runs.
type Installation struct {
	Deployment, Account string // namespace/name
	Observes            bool
	Tenants             string // the flag by which it acts as the service accounts of apps; empty for none
	Ready, Wanted       int64
}

// Permission is one answer of the API server.
type Permission struct {
	Rule           permissions.Rule
	Verb, Resource string
	Namespace      string // empty for all
	Allowed        bool
	// Replaceable is for the rule of every kind: a role with the kinds in the repositories does too.
	Replaceable bool
}

// Definition is a kind that truce reads.
type Definition struct {
	Kind, Version string // Version is the one that truce reads
	Served        bool
	Owner         string   // who has installed it, as far as it says; empty for unknown
	Drops         []string // fields that truce reads and the definition does not keep
}

// Clock is how far a clock is ahead of the API server's.
type Clock struct {
	Of    string
	Ahead time.Duration
}

// Git is the program on this machine.
type Git struct{ Program, Problem string }

// Overlap is a pair of truce instances that work for the same namespaces; "all" is the whole cluster.
type Overlap struct {
	First, Second string
	Namespaces    []string
}

// SharedState is a pair of Deployments of truce that work for different namespaces, and keep their state in one.
type SharedState struct{ First, Second, Namespace string }

// Other is a controller that applies apps as well.
type Other struct{ Name, Evidence string }

// App is a custom resource that truce enforces while another controller writes its status.
type App struct{ Name, Writer string }

// Webhook is an admission configuration that may change objects of an app.
type Webhook struct {
	Name  string
	Kinds []string
}

// The names of the checks, in their order.
const (
	checkServer      = "server"
	checkInstalled   = "controller"
	checkPermissions = "permissions"
	checkDefinitions = "definitions"
	checkClock       = "clock"
	checkGit         = "git"
	checkOverlaps    = "other instances"
	checkOthers      = "other controllers"
	checkWebhooks    = "webhooks"
)

// JudgeFacts returns the findings, in the order of the checks.
func JudgeFacts(f Facts) []Finding {
	out := []Finding{{checkServer, OK, "", "Kubernetes " + f.Server, ""}}
	for _, part := range []struct {
		check string
		judge func(Facts) []Finding
	}{
		{checkInstalled, installationFindings}, {checkPermissions, refusedPermissions}, {checkDefinitions, definitions}, {checkClock, clockFindings},
		{checkGit, gitFindings}, {checkOverlaps, overlaps}, {checkOthers, otherControllerFindings}, {checkWebhooks, webhookFindings},
	} {
		if why := f.Unread[part.check]; why != "" {
			out = append(out, Finding{part.check, Warning, "", "not checked: " + why, ""})
			continue
		}
		out = append(out, part.judge(f)...)
	}
	return out
}

// HasProblem reports whether a finding is a Problem.
func HasProblem(all []Finding) bool {
	return slices.ContainsFunc(all, func(f Finding) bool { return f.Severity == Problem })
}

func installationFindings(f Facts) []Finding {
	i := f.Installed
	if i == nil {
		return []Finding{{checkInstalled, Notice, "", "no Deployment with the label app.kubernetes.io/name=truce: truce is not installed, or runs elsewhere", "docs/install.md"}}
	}
	mode := "enforce"
	if i.Observes {
		mode = "observe"
	}
	out := Finding{checkInstalled, OK, "Deployment " + i.Deployment, fmt.Sprintf("%d of %d replicas ready, mode %s", i.Ready, i.Wanted, mode), ""}
	if i.Ready == 0 {
		out.Severity, out.Fix = Problem, "kubectl -n "+strings.Replace(i.Deployment, "/", " describe deployment ", 1)
	}
	return []Finding{out}
}

func refusedPermissions(f Facts) []Finding {
	who, fix := "you, to install truce", "ask an administrator of the cluster to install it"
	if f.Installed != nil {
		who, fix = "ServiceAccount "+f.Installed.Account, "apply the roles of deploy/rbac again, as of this version"
	}
	var out []Finding
	refused := 0
	for _, p := range f.Permissions {
		if p.Allowed {
			continue
		}
		refused++
		what := p.Verb + " " + p.Resource
		if p.Namespace != "" {
			what += " in namespace " + p.Namespace
		}
		finding := Finding{checkPermissions, Problem, who, "may not " + what + " (to " + p.Rule.For + ")", fix}
		switch {
		case p.Replaceable:
			finding.Severity, finding.Fix = Notice, "its role must name the kinds in your repositories"
		case p.Rule.Without != "":
			finding.Severity, finding.Message = Warning, finding.Message+": "+p.Rule.Without
		}
		out = append(out, finding)
	}
	if refused == 0 {
		return []Finding{{checkPermissions, OK, who, fmt.Sprintf("all %d are granted", len(f.Permissions)), ""}}
	}
	return out
}

func definitions(f Facts) []Finding {
	var out []Finding
	for _, d := range f.Definitions {
		finding := Finding{checkDefinitions, OK, d.Kind, "served in " + d.Version, ""}
		if d.Owner != "" {
			finding.Message += ", installed by " + d.Owner
		}
		switch {
		case !d.Served && f.Installed == nil:
			finding.Severity, finding.Message, finding.Fix = Notice, "not served in "+d.Version, "the overlay enforce installs it; observe-beside-flux and observe-beside-argocd install what is missing there"
		case !d.Served:
			finding.Severity, finding.Message, finding.Fix = Warning, "not served in "+d.Version+": custom resources of this kind are not seen", "kubectl apply --server-side -k deploy/crds, or upgrade the definition"
		case len(d.Drops) > 0:
			finding.Severity, finding.Message = Notice, finding.Message+"; it does not keep "+strings.Join(d.Drops, ", ")
			finding.Fix = "use the annotations that docs/adopt.md names"
		}
		out = append(out, finding)
	}
	return out
}

// The clock of the API server judges how long a Lease and a token hold. Its header has no fractions of a second.
const (
	skewWarning = 5 * time.Second
	skewProblem = time.Minute
)

func clockFindings(f Facts) []Finding {
	var out []Finding
	for _, c := range f.Clocks {
		off, side := c.Ahead.Abs().Round(time.Second), "ahead of"
		if c.Ahead < 0 {
			side = "behind"
		}
		finding := Finding{checkClock, OK, c.Of, "agrees with the API server's", ""}
		if off >= skewWarning {
			finding.Severity, finding.Message, finding.Fix = Warning, fmt.Sprintf("%s %s the API server's", off, side), "synchronise the clocks (NTP)"
		}
		if off >= skewProblem {
			finding.Severity = Problem
		}
		out = append(out, finding)
	}
	return out
}

func gitFindings(f Facts) []Finding {
	if f.Git.Problem == "" {
		return []Finding{{checkGit, OK, "this machine", f.Git.Program, ""}}
	}
	return []Finding{{checkGit, Warning, "this machine", f.Git.Problem, "commands that read Git need it here; the controller uses the one in its image"}}
}

func overlaps(f Facts) []Finding {
	if len(f.Overlaps)+len(f.SharedStates) == 0 {
		return []Finding{{checkOverlaps, OK, "", "no two truce instances are known to work for the same namespaces", ""}}
	}
	var out []Finding
	for _, o := range f.Overlaps {
		out = append(out, Finding{
			checkOverlaps, Warning, o.First, "works for the same namespaces as the instance of " + o.Second + " (" + strings.Join(o.Namespaces, ", ") + "): both write there",
			"give each instance its own namespaces by --namespace, or remove one",
		})
	}
	for _, s := range f.SharedStates {
		out = append(out, Finding{
			checkOverlaps, Warning, s.Second,
			"works for other namespaces than " + s.First + ", and has its state in namespace " + s.Namespace + ", too: one of them stands by for the other, or each overwrites what the other keeps there",
			"give each instance a --runtime-namespace of its own",
		})
	}
	return out
}

func otherControllerFindings(f Facts) []Finding {
	var out []Finding
	for _, o := range f.Others {
		finding := Finding{checkOthers, Notice, o.Name, o.Evidence, "install truce in mode observe, and move app by app with truce adopt (docs/adopt.md)"}
		if f.Installed != nil {
			finding.Fix = ""
		}
		if f.Installed != nil && !f.Installed.Observes {
			finding.Severity, finding.Message = Problem, o.Evidence+", and truce enforces apps: both write the same objects"
			finding.Fix = "run truce with --mode observe, or scale the other to zero"
		}
		out = append(out, finding)
	}
	for _, a := range f.Apps {
		out = append(out, Finding{checkOthers, Problem, a.Name, "truce enforces it, and " + a.Writer + " has written its status last", "truce adopt says which controller still works on it; truce.dev/mode: observe ends it"})
	}
	if len(out) == 0 {
		return []Finding{{checkOthers, OK, "", "neither Flux nor Argo CD applies apps", ""}}
	}
	return out
}

func webhookFindings(f Facts) []Finding {
	var out []Finding
	for _, w := range f.Webhooks {
		out = append(out, Finding{
			checkWebhooks, Notice, w.Name, "may change objects of apps: " + strings.Join(w.Kinds, ", "), "what it changes of Git's fields, truce app get shows",
		})
	}
	if len(out) == 0 {
		return []Finding{{checkWebhooks, OK, "", "no mutating admission matches an object of an app", ""}}
	}
	return out
}
