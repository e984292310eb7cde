package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/metrics"
)

// pathMetrics is where Prometheus looks by default.
const pathMetrics = "/metrics"

// metricsFront answers /metrics, and nothing else, on a listener of its own.
type metricsFront struct {
	*metrics.Metrics
	ln  net.Listener
	log *slog.Logger
}

// newMetrics listens where c says. It returns nil where metrics are off.
func newMetrics(ctx context.Context, c config.Server, log *slog.Logger) (*metricsFront, error) {
	if c.MetricsListen == "" {
		return nil, nil //nolint:nilnil // off is no error, and nothing to hold
	}
	ln, err := listen(ctx, c.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &metricsFront{Metrics: metrics.New(versionText()), ln: ln, log: log}, nil
}

// watch lets the numbers of e be asked for.
func (m *metricsFront) watch(e *embedded) {
	s := metrics.Sources{
		ViewsBytes:  func() int { return e.core.Stats().ViewsBytes },
		Views:       func() int { return e.core.Stats().Views },
		Listeners:   func() int { return e.core.Stats().Listeners },
		Credentials: e.auth.Lookups,
	}
	if e.cert != nil {
		s.CertificateEnd = func() float64 { return float64(e.cert.end().Unix()) }
	}
	m.Watch(s)
}

// Run answers until ctx ends.
func (m *metricsFront) Run(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.Handle("GET "+pathMetrics, m.Handler())
	srv := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(m.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	m.log.InfoContext(ctx, "metrics served", "url", "http://"+m.ln.Addr().String()+pathMetrics)
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(m.ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics on %s: %w", m.ln.Addr(), err)
	}
	return nil
}

// close gives up the port, where Run never ran.
func (m *metricsFront) close() {
	if m != nil {
		_ = m.ln.Close()
	}
}
