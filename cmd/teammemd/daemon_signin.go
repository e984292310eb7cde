package main

import (
	"context"
	"errors"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// signInTick is how often the daemon looks for a new token of a root that is
// signed out. Its own tries become rare with time, and a person who has just
// signed in should not wait for the next one.
const signInTick = 2 * time.Second

// renewPause is how long a server that could not say whether a sign-in ended is
// left alone.
const renewPause = 5 * time.Second

// noticeSignIns makes roots that are signed out try again once there is another
// token for them than the one that was refused.
func (d *daemon) noticeSignIns(ctx context.Context) error {
	ticker := time.NewTicker(signInTick)
	defer ticker.Stop()
	tried := make(map[string]api.Checksum)   // by root: the last token that a try was made with
	renewed := make(map[string]api.Checksum) // by root: the last refused token of a sign-in
	again := make(map[string]time.Time)      // by root: when to ask once more whether a sign-in ended
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for _, root := range d.live() {
			if hasNewToken(root.engine.Report(), root.tokens, root.ID, tried) {
				root.engine.Rouse()
			}
			now := time.Now()
			if !errors.Is(root.engine.Report().Err, api.ErrSignedOut) || renewed[root.ID] == tried[root.ID] || now.Before(again[root.ID]) {
				continue
			}
			err := root.tokens.renewRefused(ctx)
			if err != nil {
				d.log.InfoContext(ctx, "sign-in not renewed", "error", oneLine(err.Error()))
			}
			if err == nil || errors.Is(err, api.ErrSignedOut) {
				renewed[root.ID] = tried[root.ID] // that was the last word on it
			} else {
				again[root.ID] = now.Add(renewPause)
			}
		}
	}
}

// renewTick is how often the daemon sees to it that sign-ins live on also while
// nothing is asked of the server. A renewal is due minutes before it is needed.
const renewTick = time.Minute

// keepSignIns renews the tokens of sign-ins before they end.
func (d *daemon) keepSignIns(ctx context.Context) error {
	ticker := time.NewTicker(renewTick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for _, root := range d.live() {
			// Looking is enough. What is wrong shows where the token is used.
			_, _, _ = root.tokens.find()
		}
	}
}

// hasNewToken reports whether a root that was refused, or had no token that can be
// used, has one now that was not tried, and notes it as tried. Tokens are compared
// by their checksums alone.
func hasNewToken(report teamsync.Report, source tokens, id string, tried map[string]api.Checksum) bool {
	if report.Err == nil {
		delete(tried, id)
		return false
	}
	if !errors.Is(report.Err, api.ErrSignedOut) && !errors.Is(report.Err, api.ErrConfig) {
		return false
	}
	token, err := source.Token()
	if err != nil {
		return false // none that can be used: the report says so
	}
	sum := api.SumString(token.AccessToken)
	if tried[id] == sum {
		return false
	}
	tried[id] = sum
	return true
}
