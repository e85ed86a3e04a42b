package flux

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// Notifications translates Provider and Alert. Its zero value is ready.
type Notifications struct {
	// SameNamespace refuses Alerts whose sources are in other namespaces (--no-cross-namespace-refs).
	SameNamespace bool
}

const (
	notificationAPI = "notification.toolkit.fluxcd.io/v1beta3"
	// sendTimeout is how long a Provider may take that does not say.
	sendTimeout = 15 * time.Second
	// mostExpressions bounds the lists of an Alert.
	mostExpressions = 100
)

// withIdentity are the types that may have an identity at a cloud.
var withIdentity = []string{"azuredevops", "azureeventhub", "googlepubsub"}

// Provider reads a Provider.
func (Notifications) Provider(cr object.Object) route.Provider {
	r := &reading{}
	r.Kind(cr, notificationAPI, notificationv1beta3.ProviderKind)
	var spec notificationv1beta3.ProviderSpec
	r.spec(cr, &spec, nil)
	p := route.Provider{
		Key: route.Key{Namespace: cr.Namespace(), Name: cr.Name()}, UID: cr.UID(), Generation: cr.Generation(), Type: spec.Type, Channel: spec.Channel, Username: spec.Username,
		Address: spec.Address, Timeout: sendTimeout, Proxy: spec.Proxy, Suspended: spec.Suspend,
	}
	if spec.Timeout != nil {
		p.Timeout = r.timeout(spec.Timeout.Duration)
	}
	p.Secret, p.Certificates, p.ProxySecret = referenceName(spec.SecretRef), referenceName(spec.CertSecretRef), referenceName(spec.ProxySecretRef)
	switch {
	case r.HasProblem("spec.type"):
	case spec.Type == "":
		r.Problem("spec.type", "required")
	case !payload.Supports(spec.Type):
		r.Unsupported("spec.type", fmt.Sprintf("%q is not among those that truce sends to: %s", spec.Type, strings.Join(payload.TypeNames(), ", ")))
	}
	p.Account = spec.ServiceAccountName
	switch {
	case spec.ServiceAccountName == "":
	case !slices.Contains(withIdentity, spec.Type):
		r.Unsupported("spec.serviceAccountName", fmt.Sprintf("only the types %s have an identity at a cloud; use secretRef", strings.Join(withIdentity, ", ")))
	case spec.SecretRef != nil:
		r.Problem("spec.serviceAccountName", "want none beside spec.secretRef")
	}
	p.StatusName = r.statusName(spec.Type, spec.CommitStatusExpr)
	if u, err := url.Parse(spec.Address); err == nil && u.User != nil {
		r.Note("spec.address holds credentials, which everyone who can read the Provider can see; put it into the key address of spec.secretRef")
	}
	if spec.Proxy != "" {
		r.Note("spec.proxy is deprecated; use spec.proxySecretRef")
	}
	p.Problems, p.Notes = r.Problems, r.Notes
	return p
}

// statusName reads the expression of the name of a commit's status.
func (r *reading) statusName(kind, text string) cel.Expression {
	if text == "" {
		return cel.Expression{}
	}
	e, err := cel.CompileText(text)
	switch {
	case err != nil:
		r.Problem("spec.commitStatusExpr", "%v", err)
	case !payload.IsCommitStatus(kind):
		r.Problem("spec.commitStatusExpr", "want a type that writes the status of commits beside it, not %q", kind)
	}
	return e
}

func referenceName(ref *meta.LocalObjectReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}

// Alert reads an Alert.
func (n Notifications) Alert(cr object.Object) route.Alert {
	r := &reading{}
	r.Kind(cr, notificationAPI, notificationv1beta3.AlertKind)
	var spec notificationv1beta3.AlertSpec
	r.spec(cr, &spec, nil)
	a := route.Alert{
		Key: route.Key{Namespace: cr.Namespace(), Name: cr.Name()}, Generation: cr.Generation(), Provider: spec.ProviderRef.Name,
		ErrorsOnly: spec.EventSeverity == "error", Metadata: spec.EventMetadata, Summary: spec.Summary, Suspended: spec.Suspend,
	}
	a.Include, a.Ignored = r.expressions("spec.inclusionList", spec.InclusionList)
	exclude, ignored := r.expressions("spec.exclusionList", spec.ExclusionList)
	a.Exclude, a.Ignored = exclude, append(a.Ignored, ignored...)
	if len(spec.InclusionList) > 0 && len(a.Include) == 0 {
		a.Include = []*regexp.Regexp{matchesNone}
	}
	if a.Provider == "" {
		r.Problem("spec.providerRef.name", "required")
	}
	if s := spec.EventSeverity; s != "" && s != "info" && s != "error" {
		r.Problem("spec.eventSeverity", "want info or error, not %q", s)
	}
	if spec.Summary != "" {
		r.Note("spec.summary is deprecated; use spec.eventMetadata.summary")
	}
	if len(spec.EventSources) == 0 {
		r.Problem("spec.eventSources", "required")
	}
	for i, s := range spec.EventSources {
		a.Sources = append(a.Sources, n.source(r, fmt.Sprintf("spec.eventSources[%d]", i), cr.Namespace(), s))
	}
	a.Problems, a.Notes = r.Problems, r.Notes
	return a
}

func (n Notifications) source(r *reading, field, home string, s notificationv1.CrossNamespaceObjectReference) route.Source {
	return route.Source{Kind: s.Kind, Name: s.Name, Namespace: r.namespaceOf(field, home, s, n.SameNamespace), Labels: s.MatchLabels}
}

// namespaceOf is the namespace of what an Alert or a Receiver names in a field: that of its own custom resource where none is said.
func (r *reading) namespaceOf(field, home string, s notificationv1.CrossNamespaceObjectReference, staysHome bool) string {
	namespace := cmp.Or(s.Namespace, home)
	switch {
	case s.Kind == "":
		r.Problem(field+".kind", "required")
	case s.Name == "":
		r.Problem(field+".name", "required; * is for all")
	case len(s.MatchLabels) > 0 && s.Name != "*":
		r.Problem(field+".matchLabels", "want the name * beside it")
	case staysHome && namespace != home:
		r.Problem(field+".namespace", "%s is another namespace, which --no-cross-namespace-refs refuses", namespace)
		r.Problems[len(r.Problems)-1].Denied = true
	}
	return namespace
}

// matchesNone stands for a list of which no expression is one.
var matchesNone = regexp.MustCompile(`[^\s\S]`)

// mostSteps is how large the expressions of one list may be together: a text takes as many steps for each of its characters, and all messages of the cluster wait.
const mostSteps = 4000

// stepsOf is how large an expression is: one for each thing that it matches, as often as it is repeated.
func stepsOf(e *syntax.Regexp) int {
	n := 1
	if e.Op == syntax.OpLiteral {
		n = len(e.Rune)
	}
	for _, sub := range e.Sub {
		n += stepsOf(sub)
	}
	if e.Op == syntax.OpRepeat {
		n *= max(e.Min, e.Max, 1)
	}
	return n
}

// expressions compiles the expressions of a list, and returns those that are none or too large. Go's take time linear in the length of a text.
func (r *reading) expressions(field string, list []string) (out []*regexp.Regexp, ignored []app.Problem) {
	if len(list) > mostExpressions {
		r.Problem(field, "want %d expressions at most, not %d", mostExpressions, len(list))
		return nil, nil
	}
	left := mostSteps
	for i, text := range list {
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			ignored = append(ignored, app.Problem{Field: fmt.Sprintf("%s[%d]", field, i), Reason: fmt.Sprintf("is ignored, for it is not a regular expression: %v", err)})
			continue
		}
		if n := stepsOf(parsed); n > left {
			ignored = append(ignored, app.Problem{Field: fmt.Sprintf("%s[%d]", field, i), Reason: fmt.Sprintf("is ignored, for the list would be too large: its repeats make %d steps, and %d are left", n, left)})
			continue
		}
		left -= stepsOf(parsed)
		out = append(out, regexp.MustCompile(text))
	}
	return out, ignored
}

// refuse says that an object of notifications is not taken as it is.
func (c *conditions) refuse(problems []app.Problem) {
	reason, message := notificationv1.ValidationFailedReason, sentences(problems)
	if slices.ContainsFunc(problems, func(p app.Problem) bool { return p.Denied }) {
		reason = accessDenied
	}
	c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	c.set(meta.StalledCondition, metav1.ConditionTrue, reason, message)
}

// Status returns the status of a Provider or an Alert.
func (Notifications) Status(cr object.Object, s route.State) map[string]any {
	var status notificationStatus
	reader.DecodeStatus(cr, &status)
	c := &conditions{had: status.Conditions, at: metav1.NewTime(s.At.UTC()), generation: cr.Generation()}
	switch {
	case len(s.Problems) > 0:
		c.refuse(s.Problems)
	case s.Failing != "":
		c.set(meta.ReadyCondition, metav1.ConditionFalse, meta.FailedReason, s.Failing)
	default:
		message := "messages are sent"
		if s.Suspended {
			message = "suspended: no messages are sent"
		}
		for _, note := range s.Notes {
			message += "; " + note
		}
		for _, p := range s.Ignored {
			message += "; " + p.String()
		}
		c.set(meta.ReadyCondition, metav1.ConditionTrue, notificationv1.InitializedReason, message)
	}
	status.Conditions, status.ObservedGeneration = c.sorted(), cr.Generation()
	return statusMap(&status)
}
