package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/scanner"
)

// scanFinding is one finding as `scan --json` prints it.
type scanFinding struct {
	ID     string `json:"id"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Length int    `json:"length"`
	Rule   string `json:"rule"`
	Tier   string `json:"tier"`
	reason string
}

type scanRefusal struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
	detail string
}

type scanResult struct {
	Schema   int           `json:"schema"`
	Files    int           `json:"files"`
	Findings []scanFinding `json:"findings"`
	Refused  []scanRefusal `json:"refused"`
}

func (a *app) scanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "scan [PATH...]",
		Short: "Look for secrets, show no value",
		Long: "Look for secrets in files and directories; without a path, in the team directory\n" +
			"of this checkout. Of a directory the memory files (*.md, *.txt) are read. Exit\n" +
			"code 3 says that something was found that must not travel.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.scan(cmd.Context(), args) },
	}
}

func (a *app) scan(ctx context.Context, args []string) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		roots, err := m.pick(nil)
		if err != nil {
			return err
		}
		for _, root := range roots {
			args = append(args, root.Dir)
		}
	}
	key := findingKey(m.paths.StateDir)
	files, err := scanTargets(args, m.client.Config.Extensions)
	if err != nil {
		return err
	}
	result := scanResult{Schema: schema, Findings: []scanFinding{}, Refused: []scanRefusal{}}
	s := scanner.New(scanner.Options{})
	for _, file := range files {
		if err := result.add(ctx, s, key, file); err != nil {
			return err
		}
	}
	if len(result.Refused) > 0 || slices.ContainsFunc(result.Findings, func(f scanFinding) bool { return scanner.Tier(f.Tier).Holds() }) {
		a.worse(api.ExitHeld)
	}
	if a.json {
		return a.printJSON(result)
	}
	a.printScan(result)
	return nil
}

func (a *app) printScan(result scanResult) {
	for _, f := range result.Findings {
		a.printf("found  %s:%d:%d  %s  %s\n", f.File, f.Line, f.Column, f.Rule, f.reason)
	}
	for _, r := range result.Refused {
		a.printf("refused  %s  %s: %s\n", r.File, r.Reason, r.detail)
	}
	a.printf("%s, %s, %d refused\n", count(result.Files, "file"), count(len(result.Findings), "finding"), len(result.Refused))
}

// maxScanBytes bounds what is read of one file: a little more than the scanner
// takes, so that it says "too large" itself.
const maxScanBytes = scanner.DefaultMaxBytes + 1

// add scans one file. A secret in its name is masked wherever the name is shown,
// also where the file itself cannot be scanned.
func (r *scanResult) add(ctx context.Context, s *scanner.Scanner, key []byte, file string) error {
	r.Files++
	name := filepath.ToSlash(file)
	text, reading := readRegular(file)
	findings, err := s.Scan(ctx, name, text)
	refusal, refused := errors.AsType[*scanner.Refusal](err)
	if reading != nil {
		refusal, refused = &scanner.Refusal{Reason: scanner.Unreadable, Detail: "the file cannot be read"}, true
	}
	if refused { // its name is shown, and judged alone for that
		name, text = strings.ToValidUTF8(name, "?"), ""
		findings, err = s.Scan(ctx, name, text)
	}
	if _, unjudged := errors.AsType[*scanner.Refusal](err); unjudged {
		r.Refused = append(r.Refused, scanRefusal{unshowable, refusal.Reason, refusal.Detail})
		return nil
	}
	if err != nil {
		return fmt.Errorf("scanning: %w", err)
	}
	shown := scanner.MaskName(name, findings)
	if refused {
		r.Refused = append(r.Refused, scanRefusal{shown, refusal.Reason, refusal.Detail})
	}
	for _, f := range findings {
		r.Findings = append(r.Findings, scanFinding{
			ID: findingID(key, f, name, text), File: shown, Line: f.Line, Column: f.Column, Length: f.Length,
			Rule: f.Rule, Tier: string(f.Tier), reason: f.Reason,
		})
	}
	return nil
}

// unshowable stands for a name that cannot be judged.
const unshowable = "<a name that cannot be scanned>"

// readRegular reads a plain file; devices and pipes never end.
func readRegular(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fs.ErrInvalid
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxScanBytes))
	return string(text), err
}

// scanTargets lists the files to scan, sorted: named files whatever their
// ending, of directories the memory files.
func scanTargets(paths, extensions []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, withHint(fmt.Errorf("%w: %s cannot be read: %w", api.ErrUsage, path, cause(err)), "name files or directories that exist")
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if err != nil { // it is told as a refusal, the rest is scanned
				files = append(files, file)
				return fs.SkipDir
			}
			if d.IsDir() && file != path && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			if d.Type().IsRegular() && slices.Contains(extensions, filepath.Ext(file)) {
				files = append(files, file)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", path, cause(err))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// cause is the system's word without the path that the caller names already.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// findingID names a finding by rule and value, under a key that never leaves
// this machine: equal values have equal ids here, and nobody else can test a
// guess.
func findingID(key []byte, f scanner.Finding, name, text string) string {
	start, end := f.Span()
	if f.InName {
		text = name
	}
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, f.Rule+"\x00"+text[start:end])
	return hex.EncodeToString(mac.Sum(nil))[:10]
}

// findingKey returns this machine's key for [findingID], made at its first use.
// Where it cannot be kept, ids hold for this run only.
func findingKey(stateDir string) []byte {
	file := filepath.Join(stateDir, "finding.key")
	if key, err := os.ReadFile(file); err == nil && len(key) == sha256.Size {
		return key
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	if os.MkdirAll(stateDir, 0o700) == nil {
		_ = atomicfile.WriteFile(file, key, 0o600)
	}
	return key
}
