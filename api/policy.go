package api

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Tiers of a [Finding] that the two walls tell apart. Every other word blocks,
// whatever is claimed about it.
const (
	TierBlock3 = "block3" // a person may let it pass
	TierWarn   = "warn"   // never blocks
)

// AllowReasons are the reasons for which a person may let a finding pass.
var AllowReasons = []string{
	"false-positive", // it is no secret at all
	"example",        // it looks like one on purpose: a sample, a placeholder
	"revoked",        // it was one, and opens nothing any more
}

// AllowedByTeam stands in the place of a reason where the team's scan policy lets
// a finding pass.
const AllowedByTeam = "team-policy"

// AllowedOtherwise stands for a reason that is none of [AllowReasons]: free text
// of a client is not kept.
const AllowedOtherwise = "other"

// KnownReason returns reason if it is one of ours, else [AllowedOtherwise].
func KnownReason(reason string) string {
	if slices.Contains(AllowReasons, reason) || reason == AllowedByTeam {
		return reason
	}
	return AllowedOtherwise
}

// PolicyEntry is one rule that a repo's maintainers let pass, for the whole team
// and whatever its tier. It holds no value.
type PolicyEntry struct {
	ID   string `json:"id"`
	Rule string `json:"rule"`
	// Keys bounds it to keys that match this pattern, as in [path.Match], where
	// "**" alone or at the end stands for everything below; "" = all keys.
	Keys      string    `json:"keys,omitempty"`
	Reason    string    `json:"reason"`
	Actor     Actor     `json:"actor"`
	At        time.Time `json:"at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // zero = never
	// EndedAt and EndedBy say when it was taken back, and by whom.
	EndedAt time.Time `json:"ended_at,omitzero"`
	EndedBy Actor     `json:"ended_by,omitzero"`
}

// InForce reports whether the entry counts at a moment. At the moment of its
// expiry it counts no more.
func (e PolicyEntry) InForce(now time.Time) bool {
	return e.EndedAt.IsZero() && (e.ExpiresAt.IsZero() || now.Before(e.ExpiresAt))
}

// Covers reports whether the entry is about a rule in a key.
func (e PolicyEntry) Covers(rule, key string) bool {
	return e.Rule == rule && matchKeys(e.Keys, key)
}

// Allows reports whether entries let a rule pass in a key at a moment.
func Allows(entries []PolicyEntry, rule, key string, now time.Time) bool {
	return slices.ContainsFunc(entries, func(e PolicyEntry) bool { return e.InForce(now) && e.Covers(rule, key) })
}

// ParseKeyPattern checks a pattern of keys.
func ParseKeyPattern(pattern string) error {
	if len(pattern) > MaxKeyBytes {
		return fmt.Errorf("%w: a pattern of keys has at most %d bytes", ErrBadRequest, MaxKeyBytes)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("%w: the pattern of keys is malformed", ErrBadRequest)
	}
	return nil
}

// matchKeys matches a key; "x/**" is everything below x.
func matchKeys(pattern, key string) bool {
	if pattern == "" || pattern == "**" {
		return true
	}
	if below, ok := strings.CutSuffix(pattern, "/**"); ok {
		for i := range len(key) {
			if key[i] == '/' && matches(below, key[:i]) {
				return true
			}
		}
		return false
	}
	return matches(pattern, key)
}

func matches(pattern, key string) bool {
	ok, err := path.Match(pattern, key)
	return ok && err == nil // a malformed one matches nothing
}

// PolicyAnswer is the 200 of [PathScanPolicy].
type PolicyAnswer struct {
	Repo Repo `json:"repo"`
	// Revision grows with every change; [HeaderPolicy] repeats it.
	Revision uint64        `json:"revision"`
	Entries  []PolicyEntry `json:"entries"`
}

// PolicyRequest is the body of a PUT to [PathScanPolicy] (maintainers).
type PolicyRequest struct {
	Repo      Repo      `json:"repo"`
	Rule      string    `json:"rule"`
	Keys      string    `json:"keys,omitempty"`
	Reason    string    `json:"reason"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Mark is a live entry in which scanning again found something that would be
// refused today. Nothing of the entry is in it.
type Mark struct {
	Key     string `json:"key"`
	Version uint64 `json:"version"` // the repo's version that wrote it
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Rule    string `json:"rule"`
	Tier    string `json:"tier,omitempty"`
	Reason  string `json:"reason"`
}

// MarksAnswer is the 200 of [PathScanMarks] (maintainers).
type MarksAnswer struct {
	Repo Repo `json:"repo"`
	// Rules names the rule set under which all live entries were last scanned, ""
	// while that has not been done; Current is the one that is loaded.
	Rules   string `json:"rules"`
	Current string `json:"current"`
	Marks   []Mark `json:"marks"`
}
