package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLatencyOf(t *testing.T) {
	ms := func(all ...int) (out []time.Duration) {
		for _, n := range all {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	for _, tt := range []struct {
		took []time.Duration
		want LatencyResult
	}{
		{ms(7), LatencyResult{"x", 1, 7, 7, 7, 7}},
		{ms(3, 1, 2), LatencyResult{"x", 3, 2, 3, 1, 3}},
		{ms(20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1), LatencyResult{"x", 20, 10, 19, 1, 20}},
	} {
		if diff := cmp.Diff(tt.want, latencyOf("x", tt.took)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
