package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queues are the metrics of the controller's work queues, under the names that controller-runtime gave them: dashboards know those.
type queues struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, work              *prometheus.HistogramVec
}

func (m *Metrics) ofQueues() *queues {
	const label = "name"
	return &queues{
		depth:      m.gauge("workqueue_depth", "Keys that wait to be worked on now.", label),
		adds:       m.counter("workqueue_adds_total", "Keys that were put into a queue.", label),
		latency:    m.histogram("workqueue_queue_duration_seconds", "Time that keys waited until a worker took them.", requestTimes, label),
		work:       m.histogram("workqueue_work_duration_seconds", "Time that the work on a key took.", runTimes, label),
		unfinished: m.gauge("workqueue_unfinished_work_seconds", "Sum of the time that the work under way has taken so far.", label),
		longest:    m.gauge("workqueue_longest_running_processor_seconds", "Time that the longest work under way has taken so far.", label),
		retries:    m.counter("workqueue_retries_total", "Keys that were put back with a growing pause; truce's queues do not.", label),
	}
}

// Queues makes the metrics of work queues; nil for no Metrics.
func (m *Metrics) Queues() workqueue.MetricsProvider {
	if m == nil {
		return nil
	}
	return m.queues
}

func (q *queues) NewDepthMetric(name string) workqueue.GaugeMetric {
	return q.depth.WithLabelValues(name)
}

func (q *queues) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(name)
}

func (q *queues) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.latency.WithLabelValues(name)
}

func (q *queues) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.work.WithLabelValues(name)
}

func (q *queues) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(name)
}

func (q *queues) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.longest.WithLabelValues(name)
}

func (q *queues) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(name)
}
