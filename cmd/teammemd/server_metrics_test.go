package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
)

// metricsURL finds the address of the metrics in the log.
func (p *process) metricsURL() string {
	p.t.Helper()
	p.log.await(p.t, "metrics served", 1)
	found := regexp.MustCompile(`http://[^" ]+/metrics`).FindString(p.log.String())
	if found == "" {
		p.t.Fatalf("the log names no address of metrics:\n%s", p.log)
	}
	return found
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

var (
	metricType = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	metricRow  = regexp.MustCompile("(?m)^\\| `(teammemd_[a-z_]+)(?:\\{([a-z, ]+)\\})?` \\| (counter|gauge|histogram) \\|")
	metricUse  = regexp.MustCompile(`\b(?:teammemd|go|process)_[a-z_]+`)
	series     = regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? \S+$`)
	labelName  = regexp.MustCompile(`(\w+)="`)
)

// shownMetrics is what a server with a certificate shows after it has done a little of
// everything.
func shownMetrics(t *testing.T) string {
	t.Helper()
	dir, data := t.TempDir(), t.TempDir()
	file := write(t, dir, "server.toml", writeCertificate(t, dir, 1)+"metrics_listen = '127.0.0.1:0'\n")
	p := startServer(t, "--data", data, "--config", file)
	secret := token(t, data, api.Writer, "acme/*")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	for _, one := range []struct{ method, path, body string }{
		{http.MethodPut, memoryPath("acme/api"), entry(t, "a.md", "text")},
		{http.MethodGet, memoryPath("acme/api"), ""},
		{http.MethodGet, memoryPath("secret-project/x"), ""},
		{http.MethodGet, "/words-of-a-client", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), one.method, p.url+one.path, strings.NewReader(one.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	_, text := get(t, p.metricsURL())
	for _, bad := range []string{secret, "acme", "secret-project", "words-of-a-client", "a.md", "test-writer", data} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is shown", bad)
		}
	}
	p.stop()
	return text
}

// TestMetricsAreDocumented compares what is served with the table that operators
// read, and with what the dashboard asks for.
func TestMetricsAreDocumented(t *testing.T) {
	text := shownMetrics(t)
	labels := map[string]map[string]bool{}
	types := map[string]string{}
	for _, m := range metricType.FindAllStringSubmatch(text, -1) {
		types[m[1]] = m[2]
		labels[m[1]] = map[string]bool{}
	}
	for _, m := range series.FindAllStringSubmatch(text, -1) {
		name := m[1]
		for _, end := range []string{"_bucket", "_sum", "_count"} {
			if short := strings.TrimSuffix(name, end); types[short] == "histogram" {
				name = short
			}
		}
		for _, label := range labelName.FindAllStringSubmatch(m[2], -1) {
			if label[1] != "le" {
				labels[name][label[1]] = true
			}
		}
	}
	got := map[string]string{}
	for name, kind := range types {
		if strings.HasPrefix(name, "teammemd_") {
			got[name] = kind + " by " + strings.Join(slices.Sorted(maps.Keys(labels[name])), ",")
		}
	}
	document := textOfFile(t, "docs", "operate.md")
	want := map[string]string{}
	for _, m := range metricRow.FindAllStringSubmatch(document, -1) {
		names := strings.Fields(strings.ReplaceAll(m[2], ",", " "))
		slices.Sort(names)
		want[m[1]] = m[3] + " by " + strings.Join(names, ",")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/operate.md and /metrics differ (-documented +served):\n%s", diff)
	}
	t.Run("dashboard", func(t *testing.T) { checkDashboard(t, types) })
}

// checkDashboard expects that each expression asks for metrics that exist.
func checkDashboard(t *testing.T, types map[string]string) {
	t.Helper()
	var board struct {
		Title  string `json:"title"`
		UID    string `json:"uid"`
		Panels []struct {
			ID      int            `json:"id"`
			Title   string         `json:"title"`
			Type    string         `json:"type"`
			GridPos map[string]int `json:"gridPos"`
			Targets []struct {
				Expr  string `json:"expr"`
				RefID string `json:"refId"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(textOfFile(t, "etc", "grafana", "teammemd.json")), &board); err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	ids := map[int]bool{}
	for _, panel := range board.Panels {
		if panel.Type == "row" {
			continue
		}
		if ids[panel.ID] || panel.Title == "" || len(panel.Targets) == 0 || len(panel.GridPos) != 4 {
			t.Errorf("panel %d, %q: no title, place or expression, or an id of another", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			names := metricUse.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("panel %q asks for nothing: %q", panel.Title, target.Expr)
			}
			for _, name := range names {
				short := name
				for _, end := range []string{"_bucket", "_sum", "_count"} {
					if cut := strings.TrimSuffix(name, end); types[cut] == "histogram" {
						short = cut
					}
				}
				if types[short] == "" {
					t.Errorf("panel %q asks for %s, which does not exist", panel.Title, name)
				}
				asked[short] = true
			}
		}
	}
	for name := range types {
		if strings.HasPrefix(name, "teammemd_") && !asked[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

func textOfFile(t *testing.T, parts ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")))
}

// TestMetricsHaveAListenerOfTheirOwn: the doors do not show them, and theirs
// shows nothing else.
func TestMetricsHaveAListenerOfTheirOwn(t *testing.T) {
	data := t.TempDir()
	p := startServer(t, "--data", data, withEnvironment, "TEAMMEMD_SERVER_METRICS_LISTEN=127.0.0.1:0")
	url := p.metricsURL()
	if status, text := get(t, url); status != http.StatusOK || !strings.Contains(text, "teammemd_build_info{") {
		t.Errorf("%d: %s", status, text)
	}
	if got := p.ask(http.MethodGet, pathMetrics, "", ""); got.status != http.StatusNotFound {
		t.Errorf("the doors show metrics: %d", got.status)
	}
	if status, _ := get(t, strings.TrimSuffix(url, pathMetrics)+api.PathReady); status != http.StatusNotFound {
		t.Errorf("the listener of the metrics answers %s with %d", api.PathReady, status)
	}
	p.stop()
}

// TestMetricsAreOffUnlessAskedFor and are never open to others by mistake.
func TestMetricsAreOffUnlessAskedFor(t *testing.T) {
	p := startServer(t, "--data", t.TempDir())
	if strings.Contains(p.log.String(), "metrics served") {
		t.Error("metrics are on")
	}
	p.stop()
	dir := t.TempDir()
	open := write(t, dir, "server.toml", "metrics_listen = '0.0.0.0:0'\n")
	if _, talk, code := run(t, "server", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--config", open); code != api.ExitConfig || !strings.Contains(talk, "metrics_beyond_loopback") {
		t.Errorf("exit %d: %s", code, talk)
	}
	write(t, dir, "server.toml", "metrics_listen = '0.0.0.0:0'\nmetrics_beyond_loopback = true\n")
	p = startServer(t, "--data", t.TempDir(), "--config", open)
	p.metricsURL()
	p.stop()
}
