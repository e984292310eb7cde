package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/teammem/teammemd/api"
)

// writes counts what package core does.
type writes struct {
	total    *prometheus.CounterVec
	entries  prometheus.Counter
	retired  prometheus.Counter
	findings *prometheus.CounterVec
	scan     prometheus.Histogram
	due      prometheus.Gauge
	judged   prometheus.Counter
	marked   prometheus.Counter
}

// unjudged is the tier of what could not be judged at all.
const unjudged = "none"

var tiers = []string{"block1", "block2", api.TierBlock3, unjudged}

func (w *writes) init(r *prometheus.Registry) {
	w.total = counters(r, "writes_total", "Writes accepted, by whether they changed anything.", "result")
	w.total.WithLabelValues("changed")
	w.total.WithLabelValues("unchanged")
	w.entries = counter(r, "entries_written_total", "Entries created or replaced.")
	w.retired = counter(r, "entries_retired_total", "Entries retired.")
	w.findings = counters(r, "findings_total", "Findings of the secret scanner in writes, by tier and by what became of them.", "tier", "outcome")
	for _, tier := range tiers {
		w.findings.WithLabelValues(tier, "refused")
		w.findings.WithLabelValues(tier, "allowed")
	}
	w.findings.WithLabelValues(api.TierWarn, "warned")
	w.scan = histogram(r, "scan_duration_seconds", "How long one text took to scan; remembered verdicts are left out.", scanSeconds)
	w.due = prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "rescan_repos_due", Help: "Repos whose live entries wait to be judged by the present rules.",
	})
	r.MustRegister(w.due)
	w.judged = counter(r, "rescan_entries_total", "Live entries judged anew.")
	w.marked = counter(r, "rescan_marked_total", "Live entries judged anew that would be refused today.")
}

// Wrote counts an accepted write.
func (m *Metrics) Wrote(entries, retired int) {
	m.core.total.WithLabelValues(choose(entries+retired > 0, "changed", "unchanged")).Inc()
	m.core.entries.Add(float64(entries))
	m.core.retired.Add(float64(retired))
}

// Found counts a finding in a write.
func (m *Metrics) Found(tier string, allowed bool) {
	if tier == api.TierWarn {
		m.core.findings.WithLabelValues(tier, "warned").Inc() // it neither blocks nor needs leave
		return
	}
	if !slices.Contains(tiers, tier) {
		tier = unjudged
	}
	m.core.findings.WithLabelValues(tier, choose(allowed, "allowed", "refused")).Inc()
}

// Scanned records how long one text took.
func (m *Metrics) Scanned(took time.Duration) { m.core.scan.Observe(took.Seconds()) }

// Rescanning says how many repos wait to be judged anew.
func (m *Metrics) Rescanning(repos int) { m.core.due.Set(float64(repos)) }

// Rescanned counts entries that were judged anew, and those of them that are
// marked.
func (m *Metrics) Rescanned(entries, marked int) {
	m.core.judged.Add(float64(entries))
	m.core.marked.Add(float64(marked))
}
