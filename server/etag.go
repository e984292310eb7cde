package server

import (
	"strings"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

// parseMatch reads If-Match or If-None-Match, nil when the header is absent.
// Checksums count with and without quotes, W/ and the prefix sha256:, as clients
// and proxies spell them; what is none of these matches nothing.
func parseMatch(values []string) *core.Match {
	if len(values) == 0 {
		return nil
	}
	m := &core.Match{}
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if strings.TrimSpace(part) == "*" {
				m.Any = true
			} else if sum, ok := parseETag(part); ok {
				m.Sums = append(m.Sums, sum)
			}
		}
	}
	return m
}

func parseETag(s string) (api.Checksum, bool) {
	s = strings.TrimSpace(s)
	if rest, weak := strings.CutPrefix(s, "W/"); weak {
		s = rest
	} else if rest, weak := strings.CutPrefix(s, "w/"); weak {
		s = rest
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`)
	const prefix = "sha256:"
	if !strings.HasPrefix(s, prefix) {
		s = prefix + s
	}
	sum, err := api.ParseChecksum(s)
	return sum, err == nil && !sum.IsZero()
}

// notModified reports whether the client's If-None-Match names this state.
func notModified(values []string, view *core.View) bool {
	if len(values) == 0 {
		return false
	}
	if len(values) == 1 && values[0] == view.ETag()[0] { // what our clients send
		return true
	}
	m := parseMatch(values)
	return view.Matches(*m)
}
