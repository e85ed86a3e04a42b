package flux

import (
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// Receivers translates Receiver. Its zero value is ready.
type Receivers struct {
	// SameNamespace refuses Receivers whose resources are in other namespaces (--no-cross-namespace-refs).
	SameNamespace bool
}

const (
	receiverAPI = "notification.toolkit.fluxcd.io/v1"
	// receiverInterval is that of a Receiver that does not say.
	receiverInterval = 10 * time.Minute
)

// requestable are the kinds that a Receiver of truce may name: those that truce itself works on.
var requestable = []string{gitRepository, ociRepository, bucket, helmRepository, helmChart, artifactGenerator, kustomization, helmRelease}

// Kind returns the kind that it translates.
func (Receivers) Kind() object.GVK {
	return object.GVK{Group: notificationv1.GroupVersion.Group, Version: notificationv1.GroupVersion.Version, Kind: notificationv1.ReceiverKind}
}

// Receiver reads a Receiver.
func (n Receivers) Receiver(cr object.Object) webhook.Receiver {
	r := &reading{}
	r.Kind(cr, receiverAPI, notificationv1.ReceiverKind)
	var spec notificationv1.ReceiverSpec
	r.spec(cr, &spec, nil)
	out := webhook.Receiver{
		Key: webhook.Key{Namespace: cr.Namespace(), Name: cr.Name()}, Generation: cr.Generation(), Type: spec.Type, Events: spec.Events,
		Interval: receiverInterval, Secret: referenceName(spec.SecretRef), Suspended: spec.Suspend, Finalizer: notificationv1.NotificationFinalizer,
	}
	out.Deleting, _ = time.Parse(time.RFC3339, cr.StringAt("metadata", "deletionTimestamp")) // zero where there is none
	out.Request, _ = cr.Annotation(requestedAt)
	if spec.Interval != nil {
		out.Interval = r.period("spec.interval", spec.Interval.Duration)
	}
	r.receiverType(spec)
	out.Issuers = r.issuers(spec)
	out.Filter = r.filter("spec.resourceFilter", spec.Type, spec.ResourceFilter)
	if len(spec.Resources) == 0 {
		r.Problem("spec.resources", "required")
	}
	for i, s := range spec.Resources {
		at := resourcePlace{fmt.Sprintf("spec.resources[%d]", i), cr.Namespace(), spec.Type}
		if s.Kind == "" || slices.Contains(requestable, s.Kind) {
			out.Resources = append(out.Resources, n.resource(r, at, s))
		} else {
			r.Note("%s is left alone: %s is no kind that truce works on; name it in a Receiver of Flux's notification-controller", at.field, s.Kind)
		}
	}
	if len(out.Resources) == 0 && len(spec.Resources) > 0 {
		r.Unsupported("spec.resources", "none is of a kind that truce works on; name them in a Receiver of Flux's notification-controller")
	}
	out.Problems, out.Notes = r.Problems, r.Notes
	return out
}

func (r *reading) receiverType(spec notificationv1.ReceiverSpec) {
	switch {
	case r.HasProblem("spec.type"):
	case spec.Type == "":
		r.Problem("spec.type", "required")
	case !webhook.Supports(spec.Type):
		r.Unsupported("spec.type", fmt.Sprintf("%q is not among those whose webhooks truce takes", spec.Type))
	case spec.Type == notificationv1.GenericOIDCReceiver && spec.SecretRef != nil:
		r.Problem("spec.secretRef", "want none beside the type %s, whose senders are known by their tokens", spec.Type)
	case spec.Type == notificationv1.GenericOIDCReceiver:
	case len(spec.OIDCProviders) > 0:
		r.Problem("spec.oidcProviders", "want none beside the type %s", spec.Type)
	case spec.SecretRef == nil || spec.SecretRef.Name == "":
		r.Problem("spec.secretRef.name", "required")
	}
}

// filter compiles a filter of a Receiver of that type; the zero value for none.
func (r *reading) filter(field, kind, text string) cel.Expression {
	if text == "" {
		return cel.Expression{}
	}
	if kind == notificationv1.GenericOIDCReceiver {
		return r.expression(field, text, cel.CompileClaimFilter)
	}
	return r.expression(field, text, cel.CompileFilter)
}

// resourcePlace is where a resource of a Receiver is named: in which field, of which namespace and type of Receiver.
type resourcePlace struct{ field, home, kind string }

func (n Receivers) resource(r *reading, at resourcePlace, s notificationv1.ReceiverResource) webhook.Resource {
	return webhook.Resource{
		Kind: s.Kind, Namespace: r.namespaceOf(at.field, at.home, s.CrossNamespaceObjectReference, n.SameNamespace), Name: s.Name, Labels: s.MatchLabels,
		Filter: r.filter(at.field+".filter", at.kind, s.Filter),
	}
}

// Status returns the status of a Receiver. Its words are Flux's, so that beside Flux's notification-controller neither writes over the other.
func (Receivers) Status(cr object.Object, s webhook.State) map[string]any {
	var status notificationv1.ReceiverStatus
	reader.DecodeStatus(cr, &status)
	c := &conditions{had: status.Conditions, at: metav1.NewTime(s.At.UTC()), generation: cr.Generation()}
	switch {
	case len(s.Problems) > 0:
		c.refuse(s.Problems)
	case s.Missing != "":
		c.set(meta.ReadyCondition, metav1.ConditionFalse, notificationv1.TokenNotFoundReason, s.Missing)
	default:
		message := "Receiver initialized for path: " + s.Path
		for _, note := range s.Notes {
			message += "; " + note
		}
		c.set(meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, message)
	}
	status.Conditions, status.ObservedGeneration, status.WebhookPath = c.sorted(), cr.Generation(), s.Path
	status.LastHandledReconcileAt = s.Handled
	return statusMap(&status)
}

// WebhookPath is the path at which a Receiver with that token takes webhooks.
func (Receivers) WebhookPath(key webhook.Key, token string) string {
	named := notificationv1.Receiver{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	return named.GetWebhookPath(token)
}
