package view

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/controller/instance"
)

// ControllerAbsence looks for a sign of life of a controller that works for a namespace: a Lease that is renewed, or a status page that answers.
// Without one it says what it has seen instead: no proof that none runs, since a controller needs neither.
func (c *Cluster) ControllerAbsence(ctx context.Context, namespace string) (doubt string, err error) {
	all, err := instance.WorkingFor(ctx, c.cluster, namespace)
	if err != nil {
		return "", err
	}
	doubt = fmt.Sprintf("no controller says that it works for namespace %s (ConfigMap %s)", namespace, instance.ConfigMap)
	for _, o := range believed(all, namespace) {
		none := o.SignOfLife(ctx)
		if none == nil {
			return "", nil
		}
		doubt = fmt.Sprintf("the controller of %s seems not to run (%v)", o, none)
	}
	return doubt, nil
}
