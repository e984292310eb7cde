package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// notifier tells systemd how a service fares. Outside of systemd it does
// nothing.
type notifier struct{ log *slog.Logger }

func (n notifier) send(ctx context.Context, state string) {
	if _, err := systemd.SdNotify(false, state); err != nil {
		n.log.WarnContext(ctx, "service manager was not told", "error", err)
	}
}

func (n notifier) ready(ctx context.Context) { n.send(ctx, systemd.SdNotifyReady) }

func (n notifier) stopping(ctx context.Context) { n.send(ctx, systemd.SdNotifyStopping) }

// watch keeps the watchdog calm until ctx ends, as long as alive answers in
// time. What it answers does not matter: a restart mends no full disk, but it
// does mend a deadlock.
func (n notifier) watch(ctx context.Context, alive func(context.Context) error) error {
	interval, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		n.log.WarnContext(ctx, "watchdog cannot be served", "error", err)
	}
	if err != nil || interval <= 0 {
		return nil
	}
	ticker := time.NewTicker(interval / 3)
	defer ticker.Stop()
	for {
		if answers(ctx, interval/3, alive) {
			n.send(ctx, systemd.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func answers(ctx context.Context, within time.Duration, alive func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return !errors.Is(alive(ctx), context.DeadlineExceeded)
}
