//go:build pin

package pin

import (
	_ "github.com/adrg/xdg"
	_ "github.com/cenkalti/backoff/v4"
	_ "github.com/coreos/go-systemd/v22/daemon"
	_ "github.com/fsnotify/fsnotify"
	_ "github.com/go-git/go-git/v5"
	_ "github.com/gofrs/flock"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/uuid"
	_ "github.com/lmittmann/tint"
	_ "github.com/pelletier/go-toml/v2"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/zricethezav/gitleaks/v8/detect"
	_ "go.uber.org/goleak"
	_ "golang.org/x/oauth2"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "golang.org/x/text/cases"
	_ "golang.org/x/time/rate"
	_ "pgregory.net/rapid"
	_ "zombiezen.com/go/sqlite"
)
