package export

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Line is one line of history.jsonl: one version of one key. The texts of a
// redacted one are absent, its key included.
type Line struct {
	Key      string       `json:"key,omitempty"`
	Version  uint64       `json:"version"`
	Op       store.Op     `json:"op"`
	Checksum api.Checksum `json:"checksum,omitzero"`
	Content  *string      `json:"content,omitempty"` // nil: retired, redacted or pruned
	At       time.Time    `json:"at"`
	Actor    api.Actor    `json:"actor"`
	Redacted bool         `json:"redacted,omitempty"`
	Pruned   bool         `json:"pruned,omitempty"`
}

// Tar writes repos, in the order given: of each the live entries as files,
// <repo>/entries/<key>, and <repo>/history.jsonl with every version, oldest first.
// A repo's history is in memory while it is written.
func Tar(ctx context.Context, src Source, repos []api.Repo, w io.Writer) (Summary, error) {
	t := tar.NewWriter(w)
	var all Summary
	for _, repo := range repos {
		one, err := tarRepo(ctx, src, repo, t)
		if err != nil {
			return all, err
		}
		all.add(one)
	}
	if err := t.Close(); err != nil {
		return all, fmt.Errorf("writing the tar: %w", err)
	}
	return all, nil
}

func tarRepo(ctx context.Context, src Source, repo api.Repo, t *tar.Writer) (Summary, error) {
	head, err := src.Head(ctx, repo)
	if err != nil {
		return Summary{}, fmt.Errorf("reading %q: %w", repo, err)
	}
	sum := Summary{Repos: 1, Entries: len(head.Items)}
	for rest := head.Items; len(rest) > 0; {
		chunk := rest[:min(chunkRows, len(rest))]
		rest = rest[len(chunk):]
		if err := tarEntries(ctx, src, repo, chunk, t); err != nil {
			return sum, err
		}
	}
	var history bytes.Buffer
	encoder := json.NewEncoder(&history)
	encoder.SetEscapeHTML(false)
	err = replay(ctx, src, head, func(s step) error {
		left := false
		for _, c := range s.changes {
			left = left || !c.gone
			if err := encoder.Encode(lineOf(c)); err != nil {
				return err
			}
		}
		if left {
			sum.Versions++
		}
		return nil
	})
	if err != nil {
		return sum, err
	}
	return sum, tarFile(t, repo.String()+"/history.jsonl", history.Bytes(), head.Modified)
}

func tarEntries(ctx context.Context, src Source, repo api.Repo, items []store.Item, t *tar.Writer) error {
	sums := make([]api.Checksum, len(items))
	for i, item := range items {
		sums[i] = item.Sum
	}
	bodies, err := src.Bodies(ctx, repo, sums)
	if err != nil {
		return fmt.Errorf("reading contents of %q: %w", repo, err)
	}
	for _, item := range items {
		body, ok := bodies[item.Sum]
		if !ok {
			continue // redacted meanwhile
		}
		if err := tarFile(t, repo.String()+"/entries/"+item.Key.String(), []byte(body), item.Modified); err != nil {
			return err
		}
	}
	return nil
}

func lineOf(c change) Line {
	line := Line{
		Key: c.Key.String(), Version: c.Version.Version, Op: c.Op, Checksum: c.Sum, At: c.At.UTC(), Actor: c.Actor,
		Redacted: c.Redacted, Pruned: c.Pruned,
	}
	if c.Op == store.OpPut && !c.gone {
		line.Content = &c.content
	}
	if c.Redacted {
		line.Key, line.Checksum = "", api.Checksum{}
	}
	return line
}

func tarFile(t *tar.Writer, name string, content []byte, at time.Time) error {
	h := &tar.Header{
		Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Size: int64(len(content)), Mode: 0o600,
		ModTime: at.UTC().Truncate(time.Second), Format: tar.FormatPAX,
	}
	if err := t.WriteHeader(h); err != nil {
		return fmt.Errorf("writing the tar: %w", err)
	}
	if _, err := t.Write(content); err != nil {
		return fmt.Errorf("writing the tar: %w", err)
	}
	return nil
}
