package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/store"
)

// When a server that runs applies its retention.
const (
	retainAfter = 5 * time.Minute // its start, which is not the time to be slow
	retainEvery = 24 * time.Hour
)

func (a *app) pruneCommand() *cobra.Command {
	var server serverFlags
	var repos repoFlag
	var days, keep int
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Take away the contents of old versions, as [retention] or flags say",
		Long: "Take away the contents of versions that were replaced long ago, as [retention] in\n" +
			"the configuration or the flags say; both zero take nothing. Live entries stay, and\n" +
			"so does who wrote what and when. A running server does this once a day, and\n" +
			"for this verb at once.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := config.Retention{MaxAgeDays: days, KeepVersions: keep}
			if !cmd.Flags().Changed("max-age-days") && !cmd.Flags().Changed("keep-versions") {
				c, err := server.load(a)
				if err != nil {
					return err
				}
				r = c.Retention
			}
			if days < 0 || keep < 0 {
				return fmt.Errorf("%w: --max-age-days and --keep-versions are at least 0", api.ErrUsage)
			}
			return a.prune(cmd.Context(), &server, &repos, r)
		},
	}
	server.register(cmd)
	repos.register(cmd)
	cmd.Flags().IntVar(&days, "max-age-days", 0, "take contents that were replaced so many days ago; 0: none by age")
	cmd.Flags().IntVar(&keep, "keep-versions", 0, "keep so many versions of each key whatever their age; 0: by age alone")
	return cmd
}

// pruning is a request to prune.
type pruning struct {
	Repos string `json:"repos"` // a pattern
	Days  int    `json:"max_age_days"`
	Keep  int    `json:"keep_versions"`
}

// pruned is what it did.
type pruned struct {
	store.Pruned

	Repos int
}

func (p pruning) run(ctx context.Context, s store.Backend) (done pruned, err error) {
	which := repoFlag{p.Repos}
	repos, err := which.among(ctx, s)
	if err != nil {
		return done, err
	}
	done.Repos = len(repos)
	done.Pruned, err = pruneAll(ctx, s, repos, config.Retention{MaxAgeDays: p.Days, KeepVersions: p.Keep}, time.Now())
	return done, err
}

func (a *app) prune(ctx context.Context, flags *serverFlags, which *repoFlag, r config.Retention) error {
	request := pruning{which.pattern, r.MaxAgeDays, r.KeepVersions}
	done, err := alone(ctx, a, flags, "/prune", request, request.run)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{
			"schema": schema, "repos": done.Repos, "versions": done.Versions, "contents": done.Bodies, "bytes": done.Bytes,
		})
	}
	a.printf("took %d contents of %d old versions away, %d bytes\n", done.Bodies, done.Versions, done.Bytes)
	return nil
}

// pruneAll applies r to repos.
func pruneAll(ctx context.Context, s store.Keeper, repos []api.Repo, r config.Retention, now time.Time) (all store.Pruned, err error) {
	rule := store.Retention{Keep: r.KeepVersions}
	if r.MaxAgeDays > 0 {
		rule.Before = now.UTC().AddDate(0, 0, -r.MaxAgeDays)
	}
	if rule == (store.Retention{}) {
		return all, nil
	}
	for _, repo := range repos {
		one, err := s.Prune(ctx, repo, rule, api.Actor{Token: "retention"}, now.UTC())
		if err != nil {
			return all, err
		}
		all.Versions, all.Bodies, all.Bytes = all.Versions+one.Versions, all.Bodies+one.Bodies, all.Bytes+one.Bytes
	}
	return all, nil
}

// retain applies the retention of the moment a while after the start and then
// every day, until ctx ends.
func (e *embedded) retain(ctx context.Context) {
	timer := time.NewTimer(retainAfter)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(retainEvery)
		if err := e.retainNow(ctx); err != nil && ctx.Err() == nil {
			e.log.ErrorContext(ctx, "retention was not applied", "error", err)
		}
	}
}

func (e *embedded) retainNow(ctx context.Context) error {
	r := e.retention.Load()
	if *r == (config.Retention{}) {
		return nil
	}
	repos, err := e.backend.Repos(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	done, err := pruneAll(ctx, e.backend, repos, *r, began)
	if done != (store.Pruned{}) {
		e.log.InfoContext(ctx, "retention applied", "versions", done.Versions, "contents", done.Bodies, "bytes", done.Bytes,
			"duration_ms", time.Since(began).Milliseconds())
	}
	return err
}
