package oauth

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

//go:embed pages/*.html pages/style.css
var pageFiles embed.FS

var (
	// style is the one style sheet; it stands in each page, and the policy knows it
	// by its hash.
	style     = mustRead("pages/style.css")
	styleHash = func() string {
		sum := sha256.Sum256([]byte(style))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}()
	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) }, // it is ours
		"paths": func() map[string]string {
			return map[string]string{"device": api.PathDevice, "signin": api.PathSignIn, "signout": api.PathSignOut, "authorize": api.PathAuthorize}
		},
	}).ParseFS(pageFiles, "pages/*.html"))
)

func mustRead(name string) string {
	raw, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err) // it was embedded
	}
	return string(raw)
}

// pageData is what pages show. All of it is escaped by html/template.
type pageData struct {
	Title, Fault, Text   string
	Person               store.User
	Code, Client, Device string
	At                   time.Time
	Next, Link           string
	Local                bool
	Providers            []providerButton
	Fields               url.Values
	Target               string // where the answer of the form leads in the end
}

// providerButton is one way to sign in.
type providerButton struct{ Name, Title string }

// pageFunc answers with a page, or returns what went wrong.
type pageFunc func(w http.ResponseWriter, r *http.Request) error

// page makes a handler of it.
func (s *Server) page(answer pageFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := s.spend(s.limits.token, s.o.Address(r))
		if err == nil {
			err = answer(w, r)
		}
		if err == nil {
			return
		}
		e := s.refusal(r, err)
		status, text := e.status, e.Description
		if status == 0 {
			status = http.StatusBadRequest
		}
		if e.retry > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int((e.retry+time.Second-1)/time.Second)))
		}
		if err := s.show(w, status, "done", pageData{Title: "This did not work", Text: text}); err != nil {
			s.log.ErrorContext(r.Context(), "a page cannot be shown", "error", err)
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
}

// policySource is an origin as a policy can say it: the grammar knows no IPv6.
func policySource(origin string) string {
	if scheme, host, _ := strings.Cut(origin, "//"); strings.HasPrefix(host, "[") {
		return scheme
	}
	return origin
}

// show answers with a page. Nothing is sent where it returns an error.
func (s *Server) show(w http.ResponseWriter, status int, name string, d pageData) error {
	var body bytes.Buffer
	if err := templates.ExecuteTemplate(&body, name+".html", d); err != nil {
		return errors.Join(errors.New("showing a page"), err)
	}
	h := w.Header()
	noStore(h)
	action := "'self'"
	if d.Target != "" {
		action += " " + policySource(d.Target) // browsers hold the redirect that answers a form against it
	}
	h.Set("Content-Security-Policy", "default-src 'none'; style-src "+styleHash+"; form-action "+action+"; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // fails only when the browser is gone
	return nil
}
