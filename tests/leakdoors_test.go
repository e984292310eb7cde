package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// doors are the paths of the server's table, read from its source: a new one is
// driven without a word here.
func (l *leaks) doors() []string {
	l.t.Helper()
	source := textOf(l.t, root+"/server/route.go")
	values := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^\t(Path\w+)\s*= "(.+)"`).FindAllStringSubmatch(textOf(l.t, root+"/api/limits.go"), -1) {
		values[m[1]] = m[2]
	}
	var paths []string
	for _, m := range regexp.MustCompile(`(?m)^\t\tapi\.(Path\w+):`).FindAllStringSubmatch(source, -1) {
		if values[m[1]] == "" {
			l.t.Errorf("the path %s is not known", m[1])
		}
		paths = append(paths, values[m[1]])
	}
	if rows := strings.Count(source, "methods: methods{"); len(paths) != rows || rows < 10 {
		l.t.Fatalf("%d paths and %d rows in the server's table: %q", len(paths), rows, paths)
	}
	return paths
}

// driveDoors sends values to every path by every method, in every part of a
// request, and keeps the answers.
func (l *leaks) driveDoors() {
	l.t.Helper()
	seen := make(map[int]int)
	n := 0
	for _, path := range append(l.doors(), "/", "/metrics", "/openapi.json", "/VALUE", "/api/v1/VALUE") {
		for _, method := range []string{"GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"} {
			token := l.server.token("door", "acme/*", "maintainer") // each has its own rate
			for what, k := range knocks(l.all[n%len(l.all)].value) {
				n++
				where := fmt.Sprintf("the answer to %s %s with %s", method, path, what)
				status, answer := l.knock(method, strings.ReplaceAll(path, "VALUE", url.PathEscape(l.all[n%len(l.all)].value)), token, k)
				seen[status]++
				l.places[where] = answer
			}
		}
	}
	for _, status := range []int{200, 400, 401, 404, 405, 413, 422} {
		if seen[status] == 0 {
			l.t.Errorf("no request was answered by %d: %v", status, seen)
		}
	}
	l.places["the answer to no HTTP"] = l.rawAnswer("GET /" + l.all[4].value + " HTTP/9.9\r\nHost: x\r\n" + l.all[5].value + "\r\n\r\n")
	l.places["the answer to a bad header"] = l.rawAnswer("GET / HTTP/1.1\r\nHost: x\r\nA " + l.all[6].value + ": x\r\n\r\n")
	l.t.Logf("%d requests, by status: %v", n, slices.Sorted(maps.Keys(seen)))
}

// knock is where a request carries a value.
type knock struct {
	body   []byte
	query  url.Values
	header http.Header
}

// knocks are requests with a value in every part.
func knocks(value string) map[string]knock {
	line, _, _ := strings.Cut(strings.TrimPrefix(value, "-----"), "\n")
	entries := func(key, text string) []byte {
		out, _ := json.Marshal(map[string]any{"entries": map[string]string{key: text}}) // strings always encode
		return out
	}
	repo := url.Values{"repo": {team}}
	all := url.Values{}
	for _, name := range []string{"repo", "key", "view", "since", "version", "epoch", "wait", "mode", "limit", "offset", "cursor", "code", "q"} {
		all.Set(name, line)
	}
	return map[string]knock{
		"a text":           {body: entries("door.md", "it is "+value+"\n"), query: repo},
		"a name":           {body: entries(line+".md", "text\n"), query: repo},
		"broken JSON":      {body: []byte(`{"entries": {"a.md": "` + line + `", ` + line), query: repo},
		"another type":     {body: []byte(`{"entries": "` + line + `"}`), query: repo},
		"an unknown field": {body: []byte(`{"` + line + `": 1, "code": "` + line + `", "repo": "` + line + `"}`), query: repo},
		"too much":         {body: entries("large.md", value+strings.Repeat(" x", 1<<20)), query: repo},
		"no body":          {query: url.Values{"repo": {team}, "wait": {"1"}}},
		"a query":          {body: entries("door.md", "text\n"), query: all},
		"a search":         {query: url.Values{"repo": {team}, "q": {line}}},
		"a key":            {query: url.Values{"repo": {team}, "key": {line}, "version": {"1"}}},
		"headers":          {query: repo, header: http.Header{"If-Match": {`"` + line + `"`}, "If-None-Match": {line}, "User-Agent": {line}, "X-Request-Id": {line}, "Accept": {"text/event-stream"}}},
		"a false token":    {query: repo, header: http.Header{"Authorization": {"Bearer " + line}}},
		"another origin":   {query: repo, header: http.Header{"Origin": {"https://" + line + ".example"}, "Sec-Fetch-Site": {"cross-site"}}},
	}
}

// knock sends a request and returns its status and all of the answer that came in
// a moment: events never end.
func (l *leaks) knock(method, path, token string, k knock) (status int, all []byte) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, l.server.url+path+"?"+k.query.Encode(), bytes.NewReader(k.body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, k.header)
	resp, err := bare.Do(req)
	if err != nil {
		return 0, nil // the server closed early on a body that it did not want
	}
	defer resp.Body.Close()
	limit := time.AfterFunc(200*time.Millisecond, cancel)
	defer limit.Stop()
	body, _ := io.ReadAll(resp.Body) // what came until the moment was over
	return resp.StatusCode, fmt.Appendf(body, "%v", resp.Header)
}

// rawAnswer is what the server says to bytes that are no request.
func (l *leaks) rawAnswer(text string) []byte {
	l.t.Helper()
	conn := l.dial()
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		l.t.Error(err)
	}
	answer, _ := io.ReadAll(conn) // until the server closes, or the deadline
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 ")) {
		l.t.Errorf("no answer to a broken request: %d bytes", len(answer))
	}
	return answer
}

func (l *leaks) dial() net.Conn {
	l.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.server.url, "http://"))
	if err != nil {
		l.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second)) // a TCP connection takes one
	return conn
}

// halfSent leaves a request with a value under way, half of its body sent, and
// returns what ends it.
func (l *leaks) halfSent() func() {
	l.t.Helper()
	conn := l.dial()
	_, err := fmt.Fprintf(conn, "PUT /api/claude_code/team_memory?repo=%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"entries\":{\"half.md\":\"%s", team, l.token, l.all[7].value)
	if err != nil {
		l.t.Fatal(err)
	}
	return func() { _ = conn.Close() }
}
