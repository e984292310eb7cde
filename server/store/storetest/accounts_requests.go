package storetest

import (
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/teammem/teammemd/server/store"
)

// request makes a request with every field set that its kind may have.
func request(kind store.RequestKind, secret string, edits ...func(*store.Request)) store.Request {
	r := store.Request{
		Kind: kind, Hash: sha256.Sum256([]byte(secret)), Client: "client", Device: "laptop", Challenge: "challenge", Redirect: "/next",
		CreatedAt: someTime, ExpiresAt: someTime.Add(10 * time.Minute), PolledAt: someTime.Add(time.Second), Interval: 5 * time.Second,
	}
	for _, edit := range edits {
		edit(&r)
	}
	return r
}

func typed(code string) func(*store.Request) {
	return func(r *store.Request) { r.UserHash = sha256.Sum256([]byte(code)) }
}

func (s *suite) addRequest(r store.Request) store.Request {
	s.Helper()
	if err := s.store.AddRequest(s.Context(), r); err != nil {
		s.Fatalf("adding a request: %v", err)
	}
	return r
}

// readRequest returns a request without changing it.
func (s *suite) readRequest(kind store.RequestKind, secret string) (r store.Request, err error) {
	err = s.store.ChangeRequest(s.Context(), kind, sha256.Sum256([]byte(secret)), func(have store.Request) (store.RequestChange, error) {
		r = have
		return store.RequestChange{}, nil
	})
	return r, err
}

func (s *suite) wantRequest(secret string, want store.Request) {
	s.Helper()
	got, err := s.readRequest(want.Kind, secret)
	if err != nil {
		s.Errorf("request %q: %v", secret, err)
	}
	s.wantEqual("request "+secret, got, want)
}

func (s *suite) wantNoRequest(kind store.RequestKind, secret string) {
	s.Helper()
	if r, err := s.readRequest(kind, secret); !errors.Is(err, store.ErrNoRequest) {
		s.Errorf("request %q: %+v, %v, want ErrNoRequest", secret, r, err)
	}
}

var requests = map[string]func(*suite){
	"a request is found by its kind and secret": func(s *suite) {
		device := s.addRequest(request(store.DeviceRequest, "device", typed("TYPED")))
		code := s.addRequest(request(store.CodeRequest, "code", func(r *store.Request) { r.User, r.Family, r.PolledAt = "ada", "f", time.Time{} }))
		s.reopen()
		s.wantRequest("device", device)
		s.wantRequest("code", code)
		for kind, secret := range map[store.RequestKind]string{
			store.DeviceRequest: "code", store.CodeRequest: "device", store.UpstreamRequest: "unknown", store.BrowserRequest: "TYPED",
		} {
			s.wantNoRequest(kind, secret)
		}
		s.wantNoRequest(store.DeviceRequest, "TYPED") // a typed code polls for nothing
		err := s.store.ChangeDevice(s.Context(), sha256.Sum256([]byte("device")), func(store.Request) (store.RequestChange, error) {
			s.Error("the secret passed for the typed code")
			return store.RequestChange{}, nil
		})
		if !errors.Is(err, store.ErrNoRequest) {
			s.Errorf("by its secret: %v", err)
		}
		if s.store.AddRequest(s.Context(), request(store.DeviceRequest, "another", typed("TYPED"))) == nil {
			s.Error("a typed code was given twice")
		}
		if s.store.AddRequest(s.Context(), request(store.DeviceRequest, "device")) == nil {
			s.Error("a secret was given twice")
		}
		for _, secret := range []string{"no code 1", "no code 2"} { // many have none
			s.addRequest(request(store.BrowserRequest, secret))
		}
	},
	"decide changes a request, or leaves it": func(s *suite) {
		r := s.addRequest(request(store.DeviceRequest, "device", typed("TYPED")))
		change := func(edit func(*store.Request), refusal error) error {
			return s.store.ChangeDevice(s.Context(), r.UserHash, func(have store.Request) (store.RequestChange, error) {
				edit(&have)
				return store.RequestChange{Request: have}, refusal
			})
		}
		if err := change(func(have *store.Request) { have.User, have.Tries, have.Interval = "ada", 3, 10*time.Second }, nil); err != nil {
			s.Fatal(err)
		}
		r.User, r.Tries, r.Interval = "ada", 3, 10*time.Second
		s.wantRequest("device", r)
		if err := change(func(have *store.Request) { have.Denied = true }, errRefused); !errors.Is(err, errRefused) {
			s.Errorf("a refusal that changes: %v", err)
		}
		r.Denied = true
		s.wantRequest("device", r)
		if err := change(func(have *store.Request) { *have = store.Request{} }, errRefused); !errors.Is(err, errRefused) {
			s.Errorf("a refusal: %v", err)
		}
		s.wantRequest("device", r)
		if err := change(func(have *store.Request) { have.Done = true }, errRefused); !errors.Is(err, errRefused) {
			s.Errorf("a refusal that ends it: %v", err)
		}
		s.wantNoRequest(store.DeviceRequest, "device")
	},
	"a family comes of a request once": func(s *suite) {
		r := s.addRequest(request(store.DeviceRequest, "device", typed("TYPED")))
		var all sync.WaitGroup
		var won atomic.Int64
		for range 8 {
			all.Go(func() {
				err := s.store.ChangeRequest(s.Context(), r.Kind, r.Hash, func(have store.Request) (store.RequestChange, error) {
					have.Done = true
					return store.RequestChange{Request: have, Issue: issue("family", "ada")}, nil
				})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, store.ErrNoRequest):
					s.Errorf("redeeming: %v", err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			s.Errorf("%d callers got a family", won.Load())
		}
		s.wantFamily("family.1", issue("family", "ada").Family, store.Refresh{Generation: 1})
	},
	"a family that cannot be stored leaves the request": func(s *suite) {
		s.addFamily("taken", "ada")
		r := s.addRequest(request(store.CodeRequest, "code"))
		err := s.store.ChangeRequest(s.Context(), r.Kind, r.Hash, func(have store.Request) (store.RequestChange, error) {
			have.Done = true
			return store.RequestChange{Request: have, Issue: issue("taken", "ada")}, nil
		})
		if err == nil {
			s.Error("a family was stored twice")
		}
		s.wantRequest("code", r)
	},
	"a wrong typed code counts against all that are open": func(s *suite) {
		open := s.addRequest(request(store.DeviceRequest, "open", typed("ONE")))
		approved := s.addRequest(request(store.DeviceRequest, "approved", typed("TWO"), func(r *store.Request) { r.User = "ada" }))
		denied := s.addRequest(request(store.DeviceRequest, "denied", typed("THREE"), func(r *store.Request) { r.Denied = true }))
		code := s.addRequest(request(store.CodeRequest, "code"))
		for range 2 {
			if err := s.store.MissDevice(s.Context(), 3); err != nil {
				s.Fatal(err)
			}
			s.reopen()
		}
		late := s.addRequest(request(store.DeviceRequest, "late", typed("FOUR")))
		open.Tries = 2
		s.wantRequest("open", open)
		if err := s.store.MissDevice(s.Context(), 3); err != nil {
			s.Fatal(err)
		}
		s.wantNoRequest(store.DeviceRequest, "open")
		late.Tries = 1
		for secret, want := range map[string]store.Request{"late": late, "approved": approved, "denied": denied, "code": code} {
			s.wantRequest(secret, want)
		}
	},
	"expired requests are kept for a while": func(s *suite) {
		r := s.addRequest(request(store.DeviceRequest, "old", typed("OLD")))
		s.addRequest(request(store.CodeRequest, "a day later", func(n *store.Request) { n.CreatedAt = r.ExpiresAt.Add(store.KeepExpired) }))
		s.wantRequest("old", r)
		s.addRequest(request(store.CodeRequest, "later", func(n *store.Request) { n.CreatedAt = r.ExpiresAt.Add(store.KeepExpired + time.Millisecond) }))
		s.wantNoRequest(store.DeviceRequest, "old")
	},
}
