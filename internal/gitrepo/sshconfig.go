package gitrepo

import (
	"net"
	"path"
	"path/filepath"
	"strings"
)

const (
	maxSSHConfig  = 1 << 20 // bytes of one file
	maxSSHInclude = 4       // depth
)

// sshHost resolves a Host alias of the user's SSH configuration, such as the
// "github.com-work" of people with two accounts. Only an alias that means a
// public forge, or one without a dot, is replaced: a real name that someone
// merely routes elsewhere must stay what teammates know.
func (f Finder) sshHost(p place) string {
	home := f.home()
	if p.scheme != "ssh" || home == "" || public[forge(p.host)] {
		return p.host
	}
	config := sshConfig{home: home, dir: filepath.Join(home, ".ssh")}
	name := config.hostName(filepath.Join(config.dir, "config"), p.host, 0)
	name = strings.ToLower(strings.ReplaceAll(name, "%h", p.host))
	if name == "" || net.ParseIP(name) != nil {
		return p.host
	}
	if public[forge(name)] || !strings.Contains(p.host, ".") {
		return name
	}
	return p.host
}

// sshConfig is one user's; relative includes lie in dir.
type sshConfig struct{ home, dir string }

// hostName returns the first HostName that applies to host, "" for none. Match
// blocks apply to no host here: they may run commands.
func (c sshConfig) hostName(file, host string, depth int) string {
	text, err := readSome(file, maxSSHConfig)
	if err != nil {
		return ""
	}
	applies := true
	for line := range strings.Lines(string(text)) {
		keyword, args := sshLine(line)
		switch keyword {
		case "host":
			applies = sshPatterns(args, host)
		case "match":
			applies = len(args) == 1 && strings.EqualFold(args[0], "all")
		case "hostname":
			if applies && len(args) > 0 {
				return args[0]
			}
		case "include":
			if !applies || depth >= maxSSHInclude {
				continue
			}
			for _, included := range c.includes(args) {
				if name := c.hostName(included, host, depth+1); name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// sshLine splits "Keyword value ..." or "Keyword=value"; the keyword is
// returned in lower case.
func sshLine(line string) (string, []string) {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "#") {
		return "", nil
	}
	end := strings.IndexAny(line, " \t=")
	if end < 0 {
		return "", nil
	}
	rest := strings.TrimLeft(line[end:], " \t")
	rest = strings.TrimPrefix(rest, "=")
	args := strings.Fields(rest)
	for i := range args {
		args[i] = strings.Trim(args[i], `"`)
	}
	return strings.ToLower(line[:end]), args
}

// sshPatterns applies a Host line: one pattern must match and no negated one.
func sshPatterns(patterns []string, host string) bool {
	hit := false
	for _, pattern := range patterns {
		pattern, not := strings.CutPrefix(strings.ToLower(pattern), "!")
		ok, err := path.Match(strings.NewReplacer("[", `\[`, `\`, `\\`).Replace(pattern), host)
		if err != nil || !ok {
			continue
		}
		if not {
			return false
		}
		hit = true
	}
	return hit
}

// includes expands the arguments of an Include line.
func (c sshConfig) includes(args []string) []string {
	var files []string
	for _, arg := range args {
		if rest, ok := strings.CutPrefix(arg, "~/"); ok {
			arg = filepath.Join(c.home, rest)
		} else if !filepath.IsAbs(arg) {
			arg = filepath.Join(c.dir, arg)
		}
		if found, err := filepath.Glob(arg); err == nil {
			files = append(files, found...)
		}
	}
	return files
}
