package main

import (
	"context"
	"fmt"
	"time"

	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/internal/gitrepo"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/server/auth"
)

// transcript says what runs, what was found, and how a teammate joins.
func (a *app) transcript(ctx context.Context, m machine, root config.Root, report control.RootReport, tokens *auth.Auth, sc *scanner.Scanner, source string) error {
	code, err := tokens.NewJoinCode(ctx, root.Repo)
	if err != nil {
		return err
	}
	join := fmt.Sprintf("teammemd join %s --code %s", root.Server, code.Code)
	if a.json {
		return a.printJSON(struct {
			control.RootReport
			Join      string    `json:"join"`
			ExpiresAt time.Time `json:"join_expires_at"`
		}{report, join, code.ExpiresAt})
	}
	files, findings := report.Sent+report.Received+report.Unchanged+report.Restored+len(report.Held), 0
	for _, h := range report.Held {
		if h.Rule != "" {
			findings += 1 + h.More
		}
	}
	a.printf("  server    %s  (SQLite in %s)\n", root.Server, a.tilde(m.paths.DataDir))
	a.printf("  repo      %s%s\n", root.Repo, source)
	a.printf("  team dir  %s   %s, %s, %s\n", a.tilde(root.Dir), count(files, "file"), count(sc.Rules(), "rule"), count(findings, "finding"))
	a.printf("  ")
	a.printTotals(report, plural(report.Unchanged, ", %d unchanged"))
	a.printf("  teammate  %s     (valid %d min, once%s)\n", join, int(time.Until(code.ExpiresAt).Round(time.Minute).Minutes()), onlyHere(root.Server))
	a.printNotes("", report)
	a.complain(report)
	return nil
}

func onlyHere(server string) string {
	if isLoopback(server) {
		return "; this machine only"
	}
	return ""
}

// source says where the repo's name came from, for the transcript.
func (o upOptions) source() string {
	info, err := gitrepo.Find(o.path)
	if o.repo != "" || err != nil || info.RemoteName == "" {
		return ""
	}
	return " (from " + info.RemoteName + ")"
}
