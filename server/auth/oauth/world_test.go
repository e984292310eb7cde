package oauth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/auth/oauth"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// clock is a clock that moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// world is an authorization server on a real store.
type world struct {
	testing.TB

	clock    *clock
	backend  store.Backend
	accounts store.Accounts
	auth     *auth.Auth
	oauth    *oauth.Server
	url      string
	log      *lockedBuffer

	mu     sync.Mutex
	audits []store.Event // guarded by mu
}

var acme = func() api.Repo {
	r, err := api.ParseRepo("acme/api")
	if err != nil {
		panic(err)
	}
	return r
}()

func newWorld(tb testing.TB, edits ...func(*oauth.Options)) *world {
	tb.Helper()
	w := &world{TB: tb, clock: &clock{now: time.Now().Truncate(time.Second)}, log: &lockedBuffer{}}
	w.backend = sqlitetest.Serve(tb, tb.TempDir())
	w.accounts = w.backend
	log := slog.New(slog.NewTextHandler(w.log, nil))
	w.auth = auth.New(w.backend, auth.Options{Log: log, Now: w.clock.Now, Accounts: w.accounts})
	o := oauth.Options{Accounts: w.accounts, Auth: w.auth, Local: true, Log: log, Now: w.clock.Now, Audit: func(_ context.Context, e store.Event) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.audits = append(w.audits, e)
		return nil
	}}
	for _, edit := range edits {
		edit(&o)
	}
	var err error
	if w.oauth, err = oauth.New(o); err != nil {
		tb.Fatal(err)
	}
	srv := httptest.NewServer(w.oauth)
	tb.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

// audited counts events of an action.
func (w *world) audited(action string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.audits {
		if e.Action == action {
			n++
		}
	}
	return n
}

// config is what golang.org/x/oauth2 is told about the server.
func (w *world) config() *oauth2.Config {
	return &oauth2.Config{
		ClientID: api.ClientCLI, RedirectURL: "http://127.0.0.1:4711/callback",
		Endpoint: oauth2.Endpoint{
			AuthURL: w.url + api.PathAuthorize, TokenURL: w.url + api.PathToken, DeviceAuthURL: w.url + api.PathDeviceCode,
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
}

// browser is a person's browser.
type browser struct {
	*world

	client *http.Client
}

func (w *world) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	return &browser{w, &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), w.url+"/") {
			return nil
		}
		return http.ErrUseLastResponse // nobody listens at the client's address
	}}}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	url    *url.URL // of the last request
	body   string
}

func (w *world) send(client *http.Client, req *http.Request) answer {
	w.Helper()
	resp, err := client.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, resp.Request.URL, string(raw)}
}

func (b *browser) get(path string) answer {
	b.Helper()
	if strings.HasPrefix(path, "/") {
		path = b.url + path
	}
	req, err := http.NewRequest(http.MethodGet, path, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	return b.send(b.client, req)
}

// post sends a form as a browser does that is at a page of ours.
func (b *browser) post(path string, form url.Values) answer {
	b.Helper()
	req, err := http.NewRequest(http.MethodPost, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("Origin", b.url)
	return b.send(b.client, req)
}

// joined signs a browser in by a join code.
func (b *browser) joined(name string) *browser {
	b.Helper()
	code, err := b.auth.NewJoinCode(b.Context(), acme)
	if err != nil {
		b.Fatal(err)
	}
	a := b.post(api.PathSignIn, url.Values{"provider": {"local"}, "join_code": {code.Code}, "name": {name}, "next": {api.PathDevice}})
	b.wantPage(a, 200, "Sign in a device")
	return b
}

func (w *world) wantPage(a answer, status int, title string) {
	w.Helper()
	if a.status != status || !strings.Contains(a.body, "<h1>"+html.EscapeString(title)+"</h1>") {
		w.Errorf("%s: status %d, want %d %q:\n%s", a.url, a.status, status, title, a.body)
	}
	csp := a.header.Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || a.header.Get("X-Frame-Options") != "DENY" ||
		a.header.Get("Cache-Control") != "no-store" || strings.Contains(a.body, "<script") {
		w.Errorf("%s: a page without its guards: %v", a.url, a.header)
	}
}

// fields are the hidden inputs of a page's last form.
func fields(body string) url.Values {
	form := url.Values{}
	body = body[strings.LastIndex(body[:strings.LastIndex(body, "</main>")], "<form"):]
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(body, -1) {
		form.Add(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	return form
}

// approve answers the question of a page.
func (b *browser) answer(a answer, path, action string) answer {
	b.Helper()
	form := fields(a.body)
	form.Set("action", action)
	return b.post(path, form)
}

// refusal is the JSON of a refusal.
type refusal struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

// form posts to an endpoint as a client does.
func (w *world) form(path string, form url.Values, header ...string) answer {
	w.Helper()
	req, err := http.NewRequest(http.MethodPost, w.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return w.send(http.DefaultClient, req)
}

func (w *world) wantRefusal(what string, a answer, status int, code string) {
	w.Helper()
	var got refusal
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		w.Errorf("%s: status %d, not JSON: %q", what, a.status, a.body)
		return
	}
	if a.status != status || got.Code != code {
		w.Errorf("%s: %d %q, want %d %q (%s)", what, a.status, got.Code, status, code, got.Description)
	}
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Content-Type") != "application/json" {
		w.Errorf("%s: headers %v", what, a.header)
	}
}

// tokens of an answer of the token endpoint.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
	Issued  string `json:"issued_token_type"`
}

func (w *world) wantTokens(what string, a answer) tokens {
	w.Helper()
	var got tokens
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != 200 || got.Access == "" || got.Type != "Bearer" {
		w.Fatalf("%s: %d %s", what, a.status, a.body)
	}
	if a.header.Get("Cache-Control") != "no-store" {
		w.Errorf("%s: tokens may be cached", what)
	}
	return got
}

func (w *world) refresh(token string) answer {
	w.Helper()
	return w.form(api.PathToken, url.Values{"grant_type": {"refresh_token"}, "client_id": {api.ClientCLI}, "refresh_token": {token}})
}

// begin asks for a device code.
func (w *world) begin() *oauth2.DeviceAuthResponse {
	w.Helper()
	d, err := w.config().DeviceAuth(w.Context(), oauth2.SetAuthURLParam("device", "ada's laptop"))
	if err != nil {
		w.Fatal(err)
	}
	return d
}

func (w *world) poll(d *oauth2.DeviceAuthResponse) answer {
	w.Helper()
	return w.form(api.PathToken, url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {api.ClientCLI}, "device_code": {d.DeviceCode},
	})
}

// signedIn returns the first tokens of a new sign-in of a device.
func (w *world) signedIn(b *browser) tokens {
	w.Helper()
	d := w.begin()
	page := b.get("/device?user_code=" + d.UserCode)
	w.wantPage(page, 200, "Sign in this device?")
	w.wantPage(b.answer(page, api.PathDevice, "approve"), 200, "Signed in")
	return w.wantTokens("device", w.poll(d))
}

// works checks that an access token is good for the repo of its join code.
func (w *world) works(access string) {
	w.Helper()
	g, err := w.auth.Authenticate(w.Context(), access)
	if err != nil || g.Role(acme) != api.Writer || g.User == "" || g.Family == "" {
		w.Errorf("the token: %+v, %v", g, err)
	}
}

func (w *world) fails(access string) {
	w.Helper()
	if _, err := w.auth.Authenticate(w.Context(), access); err == nil {
		w.Error("the token is good")
	}
}
