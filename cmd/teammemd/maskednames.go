package main

import (
	"context"
	"slices"
	"sync"

	"github.com/teammem/teammemd/scanner"
	teamsync "github.com/teammem/teammemd/sync"
)

// maskedNames makes the names of held files fit to be shown: a file may be held
// for its size while a secret stands in its name.
type maskedNames struct {
	scanner *scanner.Scanner

	mu    sync.Mutex
	known map[string]string // guarded by mu; grows with the names that were ever held
}

// mask returns held with every path masked. A name that cannot be judged is not
// shown at all.
func (n *maskedNames) mask(ctx context.Context, held []teamsync.Held) []teamsync.Held {
	held = slices.Clone(held) // the report is the engine's
	for i := range held {
		held[i].Path = n.name(ctx, held[i].Path)
	}
	return held
}

func (n *maskedNames) name(ctx context.Context, path string) string {
	n.mu.Lock()
	masked, ok := n.known[path]
	n.mu.Unlock()
	if ok {
		return masked
	}
	findings, err := n.scanner.Scan(ctx, path, "")
	if err != nil {
		return "<a name that could not be scanned>"
	}
	masked = scanner.MaskName(path, findings)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = make(map[string]string)
	}
	n.known[path] = masked
	return masked
}
