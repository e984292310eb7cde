package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
)

const (
	// watchEvery is the interval at which the policy file is looked at.
	watchEvery = 2 * time.Second
	// maxPolicyBytes bounds the policy file, in bytes.
	maxPolicyBytes = 4 << 20
)

// PolicyFile is a policy that is read from a file, and read again when the file
// changes. Its methods may be called from any goroutine.
type PolicyFile struct {
	path string
	now  atomic.Pointer[policy]
	seen atomic.Pointer[fileState]
}

// fileState is what tells a changed file.
type fileState struct {
	mod  time.Time
	size int64
	err  string
}

// OpenPolicy reads a policy file. The error wraps [api.ErrConfig] and names every
// problem with its line.
func OpenPolicy(path string) (*PolicyFile, error) {
	f := &PolicyFile{path: path}
	if err := f.Reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// Reload reads the file again. On an error, which is as that of [OpenPolicy], the
// old policy stays.
func (f *PolicyFile) Reload() error {
	state := f.state()
	f.seen.Store(&state)
	raw, err := readBounded(f.path)
	if err != nil {
		return fmt.Errorf("%w: reading the policy file: %w", api.ErrConfig, err)
	}
	p, err := parsePolicy(raw)
	if err != nil {
		return fmt.Errorf("%w: policy file %s: %w", api.ErrConfig, f.path, err)
	}
	f.now.Store(p)
	return nil
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxPolicyBytes+1))
	if err == nil && len(raw) > maxPolicyBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxPolicyBytes)
	}
	return raw, err
}

func (f *PolicyFile) state() fileState {
	info, err := os.Stat(f.path)
	if err != nil {
		return fileState{err: err.Error()}
	}
	return fileState{mod: info.ModTime(), size: info.Size()}
}

// watch reads the file again when it has changed, until ctx ends. changed is
// called after every change that took effect, also one by [PolicyFile.Reload].
func (f *PolicyFile) watch(ctx context.Context, log *slog.Logger, changed func()) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	told := f.now.Load()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if f.state() != *f.seen.Load() {
			if err := f.Reload(); err != nil {
				log.ErrorContext(ctx, "policy file was not reloaded, the old policy stays", "error", strings.ReplaceAll(err.Error(), "\n", "; "))
			}
		}
		if p := f.now.Load(); p != told {
			told = p
			log.InfoContext(ctx, "policy reloaded", "rules", len(p.rules))
			changed()
		}
	}
}

// role returns what the policy gives p in repo.
func (f *PolicyFile) role(p Person, repo api.Repo) api.Role { return f.now.Load().role(p, repo) }

// file is the form of a policy file.
type file struct {
	Groups map[string][]string `toml:"groups"`
	Rules  []fileRule          `toml:"rules"`
}

type fileRule struct {
	Repos  []string `toml:"repos"`
	Users  []string `toml:"users"`
	Groups []string `toml:"groups"`
	Role   string   `toml:"role"`
}

// parsePolicy reads a policy strictly: what it does not know is an error. All
// problems are reported, a line each.
func parsePolicy(raw []byte) (*policy, error) {
	var f file
	decoder := toml.NewDecoder(strings.NewReader(string(raw))).DisallowUnknownFields()
	var problems []error
	if err := decoder.Decode(&f); err != nil {
		unknown, ok := errors.AsType[*toml.StrictMissingError](err)
		if !ok {
			return nil, whereWrong(err)
		}
		for _, e := range unknown.Errors {
			row, _ := e.Position()
			problems = append(problems, fmt.Errorf("line %d: unknown key %s", row, strings.Join(e.Key(), ".")))
		}
	}
	p := &policy{}
	groups := map[string][]matcher{}
	for name, members := range f.Groups {
		if name == "" || strings.Contains(name, "@") {
			problems = append(problems, fmt.Errorf("groups: %q cannot be the name of a group of this file", name))
		}
		for _, member := range members {
			m, err := parseUser(member)
			if err != nil {
				problems = append(problems, fmt.Errorf("groups.%s: %w", name, err))
			}
			groups[name] = append(groups[name], m)
		}
	}
	for i, r := range f.Rules {
		rule, wrong := r.compile(f.Groups, groups)
		for _, err := range wrong {
			problems = append(problems, fmt.Errorf("rule %d: %w", i+1, err))
		}
		p.rules = append(p.rules, rule)
	}
	return p, errors.Join(problems...)
}

// whereWrong says where the text is no TOML, or no policy, without quoting it.
func whereWrong(err error) error {
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := e.Position()
		return fmt.Errorf("line %d: %s", row, strings.TrimPrefix(e.Error(), "toml: "))
	}
	return err
}

func (r fileRule) compile(named map[string][]string, groups map[string][]matcher) (rule, []error) {
	var out rule
	var wrong []error
	note := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	if len(r.Repos) == 0 {
		note(errors.New("repos is missing"))
	}
	for _, s := range r.Repos {
		pattern, err := auth.ParsePattern(s)
		if err != nil {
			note(fmt.Errorf("repos: %q: %s", s, strings.TrimPrefix(err.Error(), api.ErrUsage.Error()+": ")))
		}
		out.repos = append(out.repos, pattern)
	}
	if len(r.Users)+len(r.Groups) == 0 {
		note(errors.New("users or groups is missing"))
	}
	for _, s := range r.Users {
		m, err := parseUser(s)
		note(err)
		out.who = append(out.who, m)
	}
	for _, s := range r.Groups {
		if _, ok := named[s]; ok {
			out.who = append(out.who, groups[s]...)
			continue
		}
		m, err := parseGroup(s)
		note(err)
		out.who = append(out.who, m)
	}
	var err error
	if out.role, err = api.ParseRole(r.Role); err != nil {
		note(errors.New("role is reader, writer, maintainer or admin"))
	}
	return out, wrong
}
