package metrics

import "github.com/prometheus/client_golang/prometheus"

// Sources are numbers that are asked for when somebody looks. Each function may
// be called from any goroutine and must return at once; nil ones are left out.
type Sources struct {
	// ViewsBytes is what the rendered views in memory take.
	ViewsBytes func() int
	// Views counts them.
	Views func() int
	// Listeners counts the subscriptions of the hub.
	Listeners func() int
	// Credentials counts the look-ups of bearer tokens: those answered from memory,
	// and those that asked the store.
	Credentials func() (hits, misses uint64)
	// CertificateEnd is when the TLS certificate ends, in seconds since 1970.
	CertificateEnd func() float64
}

// Watch registers sources. It is called once, before the first look.
func (m *Metrics) Watch(s Sources) {
	m.gauge("views_cache_bytes", "Bytes of rendered views in memory.", whole(s.ViewsBytes))
	m.gauge("views_cached", "Repos with a view in memory.", whole(s.Views))
	m.gauge("hub_listeners", "Readers who wait for changes.", whole(s.Listeners))
	m.gauge("tls_certificate_end_timestamp_seconds", "When the TLS certificate ends, in seconds since 1970.", s.CertificateEnd)
	if s.Credentials == nil {
		return
	}
	const name, help = "credential_lookups_total", "Look-ups of bearer tokens, by whether they were in memory."
	m.credentials(name, help, "hit", func() float64 { hits, _ := s.Credentials(); return float64(hits) })
	m.credentials(name, help, "miss", func() float64 { _, misses := s.Credentials(); return float64(misses) })
}

func whole(f func() int) func() float64 {
	if f == nil {
		return nil
	}
	return func() float64 { return float64(f()) }
}

func (m *Metrics) gauge(name, help string, value func() float64) {
	if value != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value))
	}
}

func (m *Metrics) credentials(name, help, cache string, value func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: namespace, Name: name, Help: help, ConstLabels: prometheus.Labels{"cache": cache},
	}, value))
}
