package metrics_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/metrics"
	"github.com/teammem/teammemd/server/store"
)

// What the packages declare is what there is.
var (
	_ server.Meter = (*metrics.Metrics)(nil)
	_ core.Meter   = (*metrics.Metrics)(nil)
	_ store.Meter  = (*metrics.Metrics)(nil)
)

// shown returns what Prometheus would read.
func shown(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d, %v", w.Code, err)
	}
	return string(body)
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("there is no line %q", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestCounts(t *testing.T) {
	m := metrics.New("1.2.3")
	m.Answered("/livez", "GET", 200, 3*time.Millisecond, false)
	m.Answered("/livez", "GET", 200, 700*time.Millisecond, false)
	m.Answered("/api/v1/events", "GET", 200, time.Hour, true)
	m.Answered("other", "GET", 0, time.Millisecond, false)
	m.Refused(api.Row(api.ErrSecretFound).Code)
	m.Streams(1)
	m.Streams(1)
	m.Streams(-1)
	m.Wrote(2, 1)
	m.Wrote(0, 0)
	m.Found("block1", false)
	m.Found(api.TierBlock3, true)
	m.Found("", false)
	m.Found(api.TierWarn, true)
	m.Scanned(2 * time.Millisecond)
	m.Rescanning(7)
	m.Rescanned(40, 3)
	m.Committed(5, time.Millisecond, true)
	m.Committed(1, time.Millisecond, false)
	m.HeadRead(true)
	m.HeadRead(true)
	m.HeadRead(false)
	m.Reloaded(false)
	wantLines(t, shown(t, m),
		`teammemd_http_requests_total{class="2xx",method="GET",route="/livez"} 2`,
		`teammemd_http_requests_total{class="2xx",method="GET",route="/api/v1/events"} 1`,
		`teammemd_http_requests_total{class="none",method="GET",route="other"} 1`,
		`teammemd_http_request_duration_seconds_bucket{method="GET",route="/livez",le="0.005"} 1`,
		`teammemd_http_request_duration_seconds_count{method="GET",route="/livez"} 2`,
		`teammemd_http_request_duration_seconds_count{method="GET",route="/api/v1/events"} 0`,
		`teammemd_refusals_total{code="secret_found"} 1`,
		`teammemd_refusals_total{code="rate_limited"} 0`,
		`teammemd_streams_open 1`,
		`teammemd_writes_total{result="changed"} 1`,
		`teammemd_writes_total{result="unchanged"} 1`,
		`teammemd_entries_written_total 2`,
		`teammemd_entries_retired_total 1`,
		`teammemd_findings_total{outcome="refused",tier="block1"} 1`,
		`teammemd_findings_total{outcome="allowed",tier="block3"} 1`,
		`teammemd_findings_total{outcome="refused",tier="none"} 1`,
		`teammemd_findings_total{outcome="warned",tier="warn"} 1`,
		`teammemd_scan_duration_seconds_count 1`,
		`teammemd_rescan_repos_due 7`,
		`teammemd_rescan_entries_total 40`,
		`teammemd_rescan_marked_total 3`,
		`teammemd_store_group_size_sum 5`,
		`teammemd_store_commit_duration_seconds_count 1`,
		`teammemd_store_commit_failures_total 1`,
		`teammemd_head_reads_total{cache="hit"} 2`,
		`teammemd_head_reads_total{cache="miss"} 1`,
		`teammemd_config_reloads_total{result="refused"} 1`,
	)
	if !strings.Contains(shown(t, m), `version="1.2.3"`) || !strings.Contains(shown(t, m), "\ngo_goroutines ") {
		t.Error("build or runtime are missing")
	}
}

// TestLabelsAreBounded calls with words that no list has: none becomes a label.
func TestLabelsAreBounded(t *testing.T) {
	m := metrics.New("1")
	const word = "words-of-a-client"
	m.Refused(word)
	m.Found(word, false)
	if text := shown(t, m); strings.Contains(text, word) {
		t.Errorf("%q is shown", word)
	}
	wantLines(t, shown(t, m), `teammemd_refusals_total{code="other"} 1`, `teammemd_findings_total{outcome="refused",tier="none"} 1`)
}

func TestSources(t *testing.T) {
	m := metrics.New("1")
	n := 3
	m.Watch(metrics.Sources{
		ViewsBytes: func() int { return n }, Listeners: func() int { return 10 * n },
		Credentials: func() (hits, misses uint64) { return 8, 2 }, CertificateEnd: func() float64 { return 1.5e9 },
	})
	wantLines(t, shown(t, m), "teammemd_views_cache_bytes 3", "teammemd_hub_listeners 30",
		`teammemd_credential_lookups_total{cache="hit"} 8`, `teammemd_credential_lookups_total{cache="miss"} 2`,
		"teammemd_tls_certificate_end_timestamp_seconds 1.5e+09")
	n = 4
	wantLines(t, shown(t, m), "teammemd_views_cache_bytes 4")
	if strings.Contains(shown(t, m), "views_cached") {
		t.Error("a source that is not there is shown")
	}
}

// TestTwoServers: nothing is shared by two servers of one process.
func TestTwoServers(t *testing.T) {
	one, other := metrics.New("1"), metrics.New("1")
	one.Wrote(1, 0)
	wantLines(t, shown(t, other), `teammemd_writes_total{result="changed"} 0`)
}

func BenchmarkAnswered(b *testing.B) {
	m := metrics.New("1")
	b.ReportAllocs()
	for b.Loop() {
		m.Answered("/livez", "GET", 304, time.Millisecond, false)
	}
}
