package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// commits counts what a backend does.
type commits struct {
	group     prometheus.Histogram
	duration  prometheus.Histogram
	failures  prometheus.Counter
	hit, miss prometheus.Counter
}

func (c *commits) init(r *prometheus.Registry) {
	c.group = histogram(r, "store_group_size", "Updates that one transaction of the store carried.", groupSizes)
	c.duration = histogram(r, "store_commit_duration_seconds", "How long one transaction of the store took, until it was durable.", commitSeconds)
	c.failures = counter(r, "store_commit_failures_total", "Transactions of the store that the database refused.")
	reads := counters(r, "head_reads_total", "Reads of a repo's state, by whether it was in memory.", "cache")
	c.hit, c.miss = reads.WithLabelValues("hit"), reads.WithLabelValues("miss")
}

// Committed records one transaction.
func (m *Metrics) Committed(updates int, took time.Duration, ok bool) {
	if !ok {
		m.store.failures.Inc()
		return
	}
	m.store.group.Observe(float64(updates))
	m.store.duration.Observe(took.Seconds())
}

// HeadRead counts a read of a head.
func (m *Metrics) HeadRead(cached bool) {
	if cached {
		m.store.hit.Inc()
		return
	}
	m.store.miss.Inc()
}
