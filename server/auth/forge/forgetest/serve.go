package forgetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// serve judges a question and answers it.
func (f *Forge) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	spell := f.spell
	f.mu.Unlock()
	token, ok := f.judge(r)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if spell == Silent {
		hang(r.Context())
		return
	}
	if spell == Rude {
		panic(http.ErrAbortHandler)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.suffer(w, r, token, spell) {
		return
	}
	login, known := f.people[token]
	if !known {
		f.send(w, http.StatusUnauthorized, map[string]any{"message": "Bad credentials"})
		return
	}
	f.tell(w, r, token, login)
}

// judge fails the test on a question that is not as it should be.
func (f *Forge) judge(r *http.Request) (token string, ok bool) {
	if r.Method != http.MethodGet {
		f.foul("method %s", r.Method)
	}
	token, ok = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		f.foul("Authorization is no bearer token")
		return "", false
	}
	if strings.Contains(r.URL.String(), token) {
		f.foul("the token stands in the URL")
	}
	want := map[string]string{"Accept": "application/json"}
	if f.k == "github" {
		want = map[string]string{"Accept": "application/vnd.github+json", "X-Github-Api-Version": "2022-11-28"}
	}
	want["User-Agent"] = "teammemd"
	for name, value := range want {
		if got := r.Header.Get(name); got != value {
			f.foul("header %s is %q, want %q", name, got, value)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, who := range []string{"", token} {
		if until := f.closed[who]; f.now().Before(until) {
			f.foul("asked %s before the time that was named", until.Sub(f.now()))
		}
	}
	question := token + " " + r.URL.EscapedPath()
	if etag := f.etags[question]; etag != "" && r.Header.Get("If-None-Match") != etag {
		f.foul("asked again without the ETag that was given: If-None-Match is %q", r.Header.Get("If-None-Match"))
	}
	return token, true
}

// suffer answers as a forge with something wrong. f.mu is held.
func (f *Forge) suffer(w http.ResponseWriter, r *http.Request, token string, spell Spell) bool {
	h := w.Header()
	switch spell {
	case Down:
		f.send(w, http.StatusBadGateway, nil)
	case Busy:
		h.Set("Retry-After", "7")
		f.closed[""] = f.now().Add(7 * time.Second)
		f.send(w, http.StatusServiceUnavailable, nil)
	case Garbage:
		h.Set("Content-Type", "text/html")
		f.counts[http.StatusOK]++
		_, _ = w.Write([]byte("<html>Sign in</html>"))
	case Huge:
		f.counts[http.StatusOK]++
		line := []byte(strings.Repeat(" ", 64<<10))
		for range 64 {
			if _, err := w.Write(line); err != nil {
				break
			}
		}
	case Leading:
		h.Set("Location", f.away+r.URL.Path)
		f.send(w, http.StatusMovedPermanently, nil)
	case Circling:
		h.Set("Location", r.URL.Path)
		f.send(w, http.StatusMovedPermanently, nil)
	case Limiting:
		reset := f.now().Add(f.limited).Truncate(time.Second)
		h.Set("X-RateLimit-Remaining", "0")
		h.Set("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
		h.Set("Date", f.now().UTC().Format(http.TimeFormat))
		f.closed[token] = reset.Add(-time.Second) // the header Date has whole seconds
		f.send(w, http.StatusForbidden, map[string]any{"message": "API rate limit exceeded"})
	case Slowing:
		h.Set("Retry-After", strconv.Itoa(int(f.limited/time.Second)))
		f.closed[token] = f.now().Add(f.limited)
		f.send(w, http.StatusTooManyRequests, nil)
	default:
		return false
	}
	return true
}

// tell answers a question about a repository. f.mu is held.
func (f *Forge) tell(w http.ResponseWriter, r *http.Request, token, login string) {
	found, moved := f.find(r)
	none := func() { f.send(w, http.StatusNotFound, map[string]any{"message": "Not Found"}) }
	if found == nil {
		none()
		return
	}
	level := found.roles[login]
	if (level == "" || level == "none") && found.visibility == "private" {
		none()
		return
	}
	if moved {
		w.Header().Set("Location", f.byNumber(found.id))
		f.send(w, http.StatusMovedPermanently, map[string]any{"message": "Moved Permanently"})
		return
	}
	body := f.describe(found, level)
	raw, err := json.Marshal(body)
	if err != nil {
		f.foul("%v", err)
	}
	etag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(append(raw, token...)))
	w.Header().Set("ETag", etag)
	f.etags[token+" "+r.URL.EscapedPath()] = etag
	if r.Header.Get("If-None-Match") == etag {
		f.counts[http.StatusNotModified]++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	f.send(w, http.StatusOK, body)
}

// byNumber is the path of a repository by its number.
func (f *Forge) byNumber(id int64) string {
	switch f.k {
	case "github":
		return fmt.Sprintf("/api/v3/repositories/%d", id)
	case "gitea":
		for _, r := range f.repos {
			if r.id == id {
				return "/api/v1/repos/" + r.path
			}
		}
	}
	return fmt.Sprintf("/api/v4/projects/%d", id)
}

// find returns what is asked for, and whether by a former name.
func (f *Forge) find(r *http.Request) (found *repo, moved bool) {
	number := func(text string) *repo {
		id, err := strconv.ParseInt(text, 10, 64)
		for _, r := range f.repos {
			if err == nil && r.id == id {
				return r
			}
		}
		return nil
	}
	prefix := map[string]string{"github": "/api/v3/repos/", "gitea": "/api/v1/repos/", "gitlab": "/api/v4/projects/"}[f.k]
	if id, ok := strings.CutPrefix(r.URL.Path, "/api/v3/repositories/"); ok && f.k == "github" {
		return number(id), false
	}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), prefix)
	if !ok {
		f.foul("path %s", r.URL.Path)
		return nil, false
	}
	if f.k == "gitlab" {
		if found := number(path); found != nil {
			return found, false
		}
		if strings.Contains(path, "/") {
			f.foul("the project's path is not escaped: %s", r.URL.EscapedPath())
		}
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		f.foul("%v", err)
	}
	path = strings.ToLower(path)
	if found, ok := f.repos[path]; ok {
		return found, false
	}
	id, ok := f.moved[path]
	if !ok {
		return nil, false
	}
	return number(strconv.FormatInt(id, 10)), true
}

// describe is what the forge says of a repository to somebody with a level.
func (f *Forge) describe(r *repo, level string) map[string]any {
	if f.k == "gitlab" {
		permissions := map[string]any{"project_access": nil, "group_access": nil}
		if n, err := strconv.Atoi(level); err == nil {
			key := map[bool]string{true: "project_access", false: "group_access"}[n%2 == 0 && r.id%2 == 0]
			permissions[key] = map[string]any{"access_level": n, "notification_level": 3}
		}
		return map[string]any{
			"id": r.id, "path_with_namespace": r.path, "visibility": r.visibility, "archived": r.archived, "permissions": permissions,
		}
	}
	has := map[string]bool{"pull": true} // who gets an answer may read
	for _, more := range []string{"triage", "push", "maintain", "admin"} {
		if level == "none" || level == "pull" || level == "" {
			break
		}
		if f.k == "github" || more == "push" || more == "admin" && level == "admin" {
			has[more] = true
		}
		if more == level {
			break
		}
	}
	body := map[string]any{
		"id": r.id, "full_name": r.path, "private": r.visibility != "public", "archived": r.archived, "permissions": has,
	}
	if f.k == "github" {
		body["visibility"] = r.visibility
	} else {
		body["private"], body["internal"] = r.visibility == "private", r.visibility == "internal"
	}
	return body
}

// send answers and counts. f.mu is held.
func (f *Forge) send(w http.ResponseWriter, status int, body any) {
	f.counts[status]++
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if body == nil {
		return
	}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		f.foul("%v", err)
	}
}
