package bench

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// bareClients is how many applies the bare client keeps under way: the server's throughput does not rise beyond.
const bareClients = 32

// apply is the bare client: it applies the objects as fast as the server takes them, and returns how long that took.
func (x *box) apply(objects []*unstructured.Unstructured) time.Duration {
	x.b.Helper()
	var g errgroup.Group
	g.SetLimit(bareClients)
	begin := time.Now()
	for _, o := range objects {
		g.Go(func() error {
			_, err := x.applyOne(o)
			return err
		})
	}
	must(x.b, g.Wait())
	return time.Since(begin)
}

func (x *box) applyOne(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return x.in(o).Apply(x.ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "bare", Force: true})
}

func (x *box) in(o *unstructured.Unstructured) dynamic.ResourceInterface {
	r := x.dynamic.Resource(resources[o.GetKind()])
	if o.GetNamespace() == "" {
		return r
	}
	return r.Namespace(o.GetNamespace())
}

// documents reads YAML.
func documents(b *testing.B, text string) []*unstructured.Unstructured {
	b.Helper()
	var out []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var data map[string]any
		err := d.Decode(&data)
		if errors.Is(err, io.EOF) {
			return out
		}
		must(b, err)
		if data != nil {
			out = append(out, &unstructured.Unstructured{Object: data})
		}
	}
}

// durations are samples of one thing.
type durations []time.Duration

// quantile is the nearest-rank one: q = 0.5 is the median.
func (d durations) quantile(q float64) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

// ratio relates two durations.
func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
