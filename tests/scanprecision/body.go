package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// body is documentation that is judged as one.
type body struct {
	name  string
	files []file
}

// file is one Markdown file.
type file struct {
	path string // to open it
	name string // relative to its folder, with slashes: what is scanned as its name, and shown
}

// bodiesOf returns the module cache and the folders as one body each, those that
// are asked for.
func bodiesOf(ctx context.Context, o options) ([]body, error) {
	var bodies []body
	if o.cache {
		out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output()
		if err != nil {
			return nil, fmt.Errorf("asking Go for its module cache: %w", err)
		}
		b, err := gather("the Go module cache", strings.TrimSpace(string(out)))
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, b)
	}
	if len(o.dirs) > 0 {
		b, err := gather("the given folders", o.dirs...)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, b)
	}
	if len(bodies) == 0 {
		return nil, errors.New("nothing to scan: name a folder")
	}
	return bodies, nil
}

// gather finds the Markdown of folders.
func gather(name string, dirs ...string) (body, error) {
	b := body{name: name}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || !isMarkdown(path) {
				return err
			}
			relative, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			b.files = append(b.files, file{path: path, name: filepath.ToSlash(relative)})
			return nil
		})
		if err != nil {
			return body{}, fmt.Errorf("looking for Markdown: %w", err)
		}
	}
	if len(b.files) == 0 {
		return body{}, fmt.Errorf("no Markdown in %s", strings.Join(dirs, ", "))
	}
	return b, nil
}

func isMarkdown(path string) bool {
	return slices.Contains([]string{".md", ".mdx", ".markdown"}, strings.ToLower(filepath.Ext(path)))
}

// each calls do with every text of the body once: a file that repeats another's
// text would count one mistake several times.
func (b body) each(do func(f file, text string) error) (repeated int, err error) {
	seen := make(map[[sha256.Size]byte]bool)
	for _, f := range b.files {
		text, err := os.ReadFile(f.path)
		if err != nil {
			return repeated, fmt.Errorf("reading documentation: %w", err)
		}
		sum := sha256.Sum256(text)
		if seen[sum] {
			repeated++
			continue
		}
		seen[sum] = true
		if err := do(f, string(text)); err != nil {
			return repeated, err
		}
	}
	return repeated, nil
}
