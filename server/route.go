package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
)

// route is one path. Each method's function answers, or returns the refusal.
type route struct {
	path    string
	methods map[string]func(*call) error
	allow   []string // value of the header Allow
	public  bool     // answers without a token
	costs   bool     // counts against the token's rate before anything is done
}

// table is the whole interface: what is not in it does not exist.
func (s *Server) table() map[string]*route {
	type methods = map[string]func(*call) error
	routes := map[string]*route{
		// The team-memory door counts for itself: a 304 is free.
		api.PathTeamMemory: {methods: methods{http.MethodGet: (*call).getMemory, http.MethodPut: (*call).putMemory}},
		api.PathEvents:     {costs: true, methods: methods{http.MethodGet: (*call).events}},
		api.PathHistory:    {costs: true, methods: methods{http.MethodGet: (*call).history}},
		api.PathContent:    {costs: true, methods: methods{http.MethodGet: (*call).content}},
		api.PathRestore:    {costs: true, methods: methods{http.MethodPost: (*call).restore}},
		api.PathRedact:     {costs: true, methods: methods{http.MethodPost: (*call).redact}},
		api.PathRedactions: {costs: true, methods: methods{http.MethodGet: (*call).redactions}},
		api.PathSearch:     {costs: true, methods: methods{http.MethodGet: (*call).search}},
		api.PathJoinCodes:  {costs: true, methods: methods{http.MethodPost: (*call).newJoinCode}},
		api.PathScanPolicy: {costs: true, methods: methods{
			http.MethodGet: (*call).scanPolicy, http.MethodPut: (*call).allowRule, http.MethodDelete: (*call).endAllow,
		}},
		api.PathScanMarks: {costs: true, methods: methods{http.MethodGet: (*call).scanMarks}},
		api.PathWhoAmI:    {costs: true, methods: methods{http.MethodGet: (*call).whoAmI}},
		api.PathSignIns:   {costs: true, methods: methods{http.MethodGet: (*call).signIns, http.MethodDelete: (*call).endSignIns}},
		api.PathAudit:     {costs: true, methods: methods{http.MethodGet: (*call).audit}},
		api.PathJoin:      {public: true, methods: methods{http.MethodPost: (*call).join}},
		api.PathVersion:   {public: true, methods: methods{http.MethodGet: (*call).version}},
		api.PathOpenAPI:   {public: true, methods: methods{http.MethodGet: (*call).openAPI}},
		api.PathLive:      {public: true, methods: methods{http.MethodGet: (*call).live}},
		api.PathReady:     {public: true, methods: methods{http.MethodGet: (*call).ready}},

		api.PathWebhookGitHub: {public: true, methods: methods{http.MethodPost: (*call).webhook}},
		api.PathWebhookGitLab: {public: true, methods: methods{http.MethodPost: (*call).webhook}},
		api.PathWebhookGitea:  {public: true, methods: methods{http.MethodPost: (*call).webhook}},

		api.PathSignInMetadata: {public: true, methods: methods{http.MethodGet: (*call).signIn}},
		api.PathDeviceCode:     {public: true, methods: methods{http.MethodPost: (*call).signIn}},
		api.PathToken:          {public: true, methods: methods{http.MethodPost: (*call).signIn}},
		api.PathRevoke:         {public: true, methods: methods{http.MethodPost: (*call).signIn}},
		api.PathIntrospect:     {public: true, methods: methods{http.MethodPost: (*call).signIn}},
		api.PathAuthorize:      {public: true, methods: methods{http.MethodGet: (*call).signIn, http.MethodPost: (*call).signIn}},
		api.PathDevice:         {public: true, methods: methods{http.MethodGet: (*call).signIn, http.MethodPost: (*call).signIn}},
		api.PathSignIn:         {public: true, methods: methods{http.MethodGet: (*call).signIn, http.MethodPost: (*call).signIn}},
		api.PathSignOut:        {public: true, methods: methods{http.MethodPost: (*call).signIn}},
		api.PathForgeCallback:  {public: true, methods: methods{http.MethodGet: (*call).signIn}},
		api.PathOIDCCallback:   {public: true, methods: methods{http.MethodGet: (*call).signIn}},
	}
	for path, r := range routes {
		var allowed []string
		for method := range r.methods {
			allowed = append(allowed, method)
		}
		slices.Sort(allowed)
		r.path, r.allow = path, []string{strings.Join(allowed, ", ")}
	}
	return routes
}

// call is one request on its way through the server. One goroutine uses it.
type call struct {
	*Server
	w     http.ResponseWriter
	r     *http.Request
	grant auth.Grant
	route *route // nil for a path that is none of ours
	known bool   // the route has the method

	status int   // sent, 0 for not yet
	sent   int64 // bytes of the body, as they went out
	broken bool  // the answer began and cannot be finished

	detached bool // a copy of the call goes on behind the handler, and is recorded

	began   time.Time
	id      string   // of the request, in [api.HeaderRequest]
	repo    api.Repo // that it is about, once the caller was found to be a reader of it: only then may it be logged
	refused string   // error_code
	long    bool     // the client wants to wait
}

var protocolValue = []string{api.Protocol}

// calls keeps what requests that ended no longer need.
var calls = sync.Pool{New: func() any { return new(call) }}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	c := calls.Get().(*call)
	*c = call{Server: s, w: w, r: r, began: time.Now(), id: newRequestID(), route: s.routes[r.URL.Path]}
	s.handle(c)
	*c = call{} // not reached by a panic: what that one held is left alone
	calls.Put(c)
}

func (s *Server) handle(c *call) {
	h := c.w.Header()
	h[api.HeaderProtocol] = protocolValue
	h[api.HeaderRequest] = []string{c.id}
	defer c.record()
	defer c.survive()
	if err := c.dispatch(); err != nil {
		c.fail(err)
	}
	if c.broken {
		panic(http.ErrAbortHandler) // the client must not take it for whole
	}
}

func (c *call) dispatch() error {
	if c.route == nil {
		return noPath()
	}
	answer, ok := c.route.methods[c.r.Method]
	if !ok {
		c.w.Header()["Allow"] = c.route.allow
		return errMethod
	}
	c.known = true
	if err := c.cross.Check(c.r); err != nil {
		return api.Errorf(api.ErrForbidden, "browsers may not send this from another site")
	}
	if c.route.public {
		return answer(c)
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	if c.route.costs {
		if err := c.charge(); err != nil {
			return err
		}
	}
	return answer(c)
}

// survive turns a panic into a 500. It logs where it happened and of which type
// it was: the value could hold what a client sent.
func (c *call) survive() {
	value := recover()
	if value == nil {
		return
	}
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	c.logPanic(value)
	if c.status != 0 {
		panic(http.ErrAbortHandler)
	}
	c.fail(api.ErrInternal)
}

// logPanic is called by the deferred function that recovered value.
func (c *call) logPanic(value any) {
	c.log.ErrorContext(c.r.Context(), "handler panicked", "request_id", c.id, "path", c.routeName(), "type", fmt.Sprintf("%T", value), "at", panicSite())
}

// panicSite returns file and line of the function that panicked.
func panicSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(4, pcs[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", frame.Function, frame.Line)
		}
		if !more {
			return "unknown"
		}
	}
}

// gone reports whether err says only that the client went away.
func (c *call) gone(err error) bool {
	return errors.Is(err, context.Canceled) && c.r.Context().Err() != nil
}
