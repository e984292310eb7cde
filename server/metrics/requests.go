package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/teammem/teammemd/api"
)

// requests counts what the HTTP side does.
type requests struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	streams  prometheus.Gauge
	refusals *prometheus.CounterVec
	known    map[string]bool // error codes

	// answered keeps the counters of each combination that occurred: finding them
	// by their labels would cost more than the counting.
	answered sync.Map // of answeredKey to answeredCounters
}

type answeredKey struct {
	route, method string
	class         int
}

type answeredCounters struct {
	total    prometheus.Counter
	duration prometheus.Observer
}

func (q *requests) init(r *prometheus.Registry) {
	q.total = counters(r, "http_requests_total", "Requests answered, by route, method and class of status.", "route", "method", "class")
	q.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "http_request_duration_seconds", Buckets: requestSeconds,
		Help: "How long answers took, by route and method; streams and long polls are left out.",
	}, []string{"route", "method"})
	q.streams = prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "streams_open", Help: "Event streams and long polls that are open.",
	})
	r.MustRegister(q.duration, q.streams)
	q.refusals = counters(r, "refusals_total", "Requests refused, by error_code.", "code")
	q.known = map[string]bool{"method_not_allowed": true, "other": true}
	for _, row := range api.Errors {
		if row.Status != 0 {
			q.known[row.Code] = true
		}
	}
	for code := range q.known {
		q.refusals.WithLabelValues(code)
	}
}

// Answered counts a request that ended. route and method come from the server's
// table or are "other"; long says that its duration is not the server's doing.
func (m *Metrics) Answered(route, method string, status int, took time.Duration, long bool) {
	key := answeredKey{route, method, status / 100}
	found, ok := m.http.answered.Load(key)
	if !ok {
		found = answeredCounters{
			m.http.total.WithLabelValues(key.route, key.method, classLabel(key.class)),
			m.http.duration.WithLabelValues(key.route, key.method),
		}
		m.http.answered.Store(key, found)
	}
	c := found.(answeredCounters)
	c.total.Inc()
	if !long {
		c.duration.Observe(took.Seconds())
	}
}

// Refused counts a refusal by its error_code.
func (m *Metrics) Refused(code string) {
	if !m.http.known[code] {
		code = "other"
	}
	m.http.refusals.WithLabelValues(code).Inc()
}

// Streams adds to the streams that are open.
func (m *Metrics) Streams(delta int) { m.http.streams.Add(float64(delta)) }

func classLabel(hundreds int) string {
	if hundreds < 1 || hundreds > 5 {
		return "none" // the client left before the answer began
	}
	return string(rune('0'+hundreds)) + "xx"
}
