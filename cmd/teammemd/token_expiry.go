package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/teammem/teammemd/api"
)

// maxLife bounds how far ahead a token may expire: beyond it a number is a
// mistake, and "never" is said by leaving the flag out.
const maxLife = 100 * 366 * 24 * time.Hour

// lifetime is a number of whole weeks, days, hours or minutes.
var lifetime = regexp.MustCompile(`^([0-9]{1,9})([wdhm])$`)

var lifetimeUnits = map[string]time.Duration{
	"w": 7 * 24 * time.Hour, "d": 24 * time.Hour, "h": time.Hour, "m": time.Minute,
}

// parseExpiry reads when a token ends: "90d", "2w", "12h", "30m" from now, a
// date, which means its beginning in UTC, or a time as in RFC 3339. Nothing
// means never, the zero time. The error wraps [api.ErrUsage].
func parseExpiry(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	end, err := readExpiry(s, now)
	switch {
	case err != nil:
		return time.Time{}, err
	case !end.After(now):
		return time.Time{}, fmt.Errorf("%w: --expires %q is not in the future", api.ErrUsage, s)
	case end.Sub(now) > maxLife:
		return time.Time{}, fmt.Errorf("%w: --expires %q is more than 100 years away; leave it out for a token without end", api.ErrUsage, s)
	}
	return end, nil
}

func readExpiry(s string, now time.Time) (time.Time, error) {
	if parts := lifetime.FindStringSubmatch(s); parts != nil {
		n, err := strconv.ParseInt(parts[1], 10, 64)
		unit := lifetimeUnits[parts[2]]
		if err != nil || n > int64(maxLife/unit)+1 {
			n = int64(maxLife/unit) + 1
		}
		return now.Add(time.Duration(n) * unit), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, s); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: --expires %q is neither a time from now, such as 90d, 2w or 12h, nor a date, such as 2027-01-31", api.ErrUsage, s)
}
