package witness

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// circuit is what is known of the way from the API server to us. One that hangs makes every write of others wait for a second, the
// least timeout that there is: then the configuration is withdrawn, and offered again after a pause that grows.
type circuit struct {
	rest  time.Duration // the pause before the next offer; zero while nothing is wrong
	deaf  int           // probes, one after the other, that ended at once and did not arrive: no write waits, and nothing is reported
	blind bool          // probes are refused, which was logged
}

// The circuit's times.
const (
	firstProbe = 250 * time.Millisecond // after an offer: an API server reads a new configuration within that, most often
	probeEvery = 5 * time.Second
	probeMost  = 5 * time.Second        // for one probe
	hangs      = 900 * time.Millisecond // a probe that takes so long, and was not heard, has waited for the timeout of a webhook
	inVain     = 2                      // probes, one after the other
	deafAfter  = 3                      // probes; the first may come before an API server knows of us
	restLeast  = 10 * time.Second
	restMost   = 5 * time.Minute
)

// answered probes until the kinds have changed, or for so long, and reports false when the API server waits for us in vain: twice, one
// after the other, since a machine may be slow once.
func (k *registrar) answered(ctx context.Context, most time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for wait := firstProbe; ; wait = min(4*wait, probeEvery) {
		if k.pause(ctx, k.changed, wait) || ctx.Err() != nil {
			return true
		}
		hung := 0
		for hung < inVain && k.hangs(ctx) {
			hung++
		}
		if hung == inVain && ctx.Err() == nil {
			return false
		}
	}
}

// hangs sends a request that leaves nothing behind the way of everybody's, and reports whether it had to wait for us.
func (k *registrar) hangs(ctx context.Context) bool {
	select {
	case <-k.heard: // an earlier one, late
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, probeMost)
	defer cancel()
	begin := time.Now()
	_, err := k.Cluster.Dynamic().Resource(configMaps).Namespace(k.Home).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"generateName": "truce-witness-"},
	}}, metav1.CreateOptions{FieldManager: k.setup.Name, DryRun: []string{metav1.DryRunAll}})
	took := time.Since(begin)
	if err != nil {
		k.unprobed(ctx, err)
		return false
	}
	select {
	case <-k.heard:
		k.circuit = circuit{}
		return false
	default:
	}
	if took >= hangs {
		return true
	}
	if k.circuit.deaf++; k.circuit.deaf == deafAfter {
		k.Log.Warn("the API server does not reach the witness: nothing is seen of who writes, and no write waits for it")
	}
	return false
}

// unprobed says, once, why it is not known whether writes wait for the witness: the API server itself does not answer, or has other rules.
func (k *registrar) unprobed(ctx context.Context, why error) {
	if !k.circuit.blind && ctx.Err() == nil {
		k.Log.Warn("it is not known whether the API server reaches the witness", "error", why.Error())
	}
	k.circuit.blind = true
}

// withdraw takes the configuration away, and returns how long it stays removed.
func (k *registrar) withdraw(ctx context.Context) time.Duration {
	rest := min(max(2*k.circuit.rest, restLeast), restMost)
	k.circuit.rest = rest
	k.Log.Warn("the API server waits in vain for the witness: its configuration is removed for now", "next", rest.String())
	k.leave(ctx)
	return rest
}
