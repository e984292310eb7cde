package metrics

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// namespace begins the name of every metric of ours.
const namespace = "teammemd"

// Buckets of the histograms, in their units. They reach from what is served out
// of memory to the timeouts.
var (
	requestSeconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 30}
	scanSeconds    = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 2.5}
	commitSeconds  = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 2.5}
	groupSizes     = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
)

// Metrics holds every counter of one server. Its methods may be called from any
// goroutine and return at once.
type Metrics struct {
	registry *prometheus.Registry
	http     requests
	core     writes
	store    commits
	reloads  *prometheus.CounterVec
}

// New returns the metrics of a server of the program's version.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.http.init(m.registry)
	m.core.init(m.registry)
	m.store.init(m.registry)
	m.reloads = counters(m.registry, "config_reloads_total", "Configurations that were read again, by whether they took effect.", "result")
	m.reloads.WithLabelValues("applied")
	m.reloads.WithLabelValues("refused")
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1, with the program's version and that of Go as labels.",
	}, []string{"version", "go"})
	info.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(info, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler answers with all of it in the formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// Reloaded counts a configuration that was read again.
func (m *Metrics) Reloaded(applied bool) {
	m.reloads.WithLabelValues(choose(applied, "applied", "refused")).Inc()
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func counters(r *prometheus.Registry, name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	r.MustRegister(v)
	return v
}

func counter(r *prometheus.Registry, name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	r.MustRegister(c)
	return c
}

func histogram(r *prometheus.Registry, name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	r.MustRegister(h)
	return h
}
