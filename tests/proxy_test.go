package tests

import (
	"context"
	"testing"

	"github.com/teammem/teammemd/tests/chaos"
)

// newChaos runs a proxy before a server until the test ends.
func newChaos(t *testing.T, target string, seed uint64) *chaos.Proxy {
	t.Helper()
	p, err := chaos.New(chaos.Options{Target: target, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the proxy: %v", err)
		}
	})
	return p
}
