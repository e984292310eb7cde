package claude

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// maxSettings bounds one settings file, in bytes.
const maxSettings = 4 << 20

// settingsFile is what concerns us in one of the agent's settings files.
type settingsFile struct {
	AutoMemoryDirectory *string `json:"autoMemoryDirectory"`
	AutoMemoryEnabled   *bool   `json:"autoMemoryEnabled"`
}

// source is one settings file by the name that people know it by.
type source struct {
	how  string
	path string
}

// sources lists the settings that may move the directory, strongest first. The
// repository's shared .claude/settings.json is left out on purpose.
func (p Place) sources() []source {
	var out []source
	policy := p.PolicyFiles
	if policy == nil {
		policy = policyFiles(runtime.GOOS, p.Getenv)
	}
	for _, file := range slices.Backward(policy) {
		out = append(out, source{"the administrator's settings", file})
	}
	for _, root := range []string{p.Root, p.CanonicalRoot} {
		if root != "" {
			out = append(out, source{"the checkout's settings.local.json", filepath.Join(root, ".claude", "settings.local.json")})
		}
	}
	if home := p.configHome(); home != "" {
		out = append(out, source{"the user's settings.json", filepath.Join(home, "settings.json")})
	}
	return out
}

// configured returns autoMemoryDirectory of the strongest file that has it.
func (p Place) configured() (dir, how string, ok bool) {
	for _, src := range p.sources() {
		file, err := readSettings(src.path)
		if err != nil || file.AutoMemoryDirectory == nil {
			continue
		}
		dir, ok := usable(*file.AutoMemoryDirectory, p.Home)
		return dir, "autoMemoryDirectory in " + src.how, ok
	}
	return "", "", false
}

// Off returns why the agent keeps no memory here at all, "" when it does.
func Off(p Place) string {
	for _, name := range []string{"CLAUDE_CODE_DISABLE_AUTO_MEMORY", "CLAUDE_CODE_SIMPLE"} {
		if truthy(p.Getenv(name)) {
			return name + " is set"
		}
	}
	for _, src := range p.sources() {
		file, err := readSettings(src.path)
		if err != nil || file.AutoMemoryEnabled == nil {
			continue
		}
		if *file.AutoMemoryEnabled {
			return ""
		}
		return "autoMemoryEnabled is false in " + src.how
	}
	return ""
}

func truthy(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// readSettings reads one file. A key of an unexpected type counts as absent, a
// broken file as empty: the agent starts all the same.
func readSettings(path string) (settingsFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return settingsFile{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSettings))
	if err != nil {
		return settingsFile{}, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return settingsFile{}, err
	}
	var out settingsFile
	if json.Unmarshal(raw["autoMemoryDirectory"], &out.AutoMemoryDirectory) != nil {
		out.AutoMemoryDirectory = nil
	}
	if json.Unmarshal(raw["autoMemoryEnabled"], &out.AutoMemoryEnabled) != nil {
		out.AutoMemoryEnabled = nil
	}
	return out, nil
}

// policyFiles lists the administrator's settings, weakest first: one file, and
// the drop-ins beside it in their order.
func policyFiles(goos string, getenv func(string) string) []string {
	var dirs []string
	switch goos {
	case "darwin":
		dirs = []string{"/Library/Application Support/ClaudeCode"}
	case "windows":
		if data := getenv("ProgramData"); data != "" {
			dirs = append(dirs, filepath.Join(data, "ClaudeCode"))
		}
		if programs := getenv("ProgramFiles"); programs != "" {
			dirs = append(dirs, filepath.Join(programs, "ClaudeCode"))
		}
	default:
		dirs = []string{"/etc/claude-code"}
	}
	var files []string
	for _, dir := range dirs {
		files = append(files, filepath.Join(dir, "managed-settings.json"))
		entries, err := os.ReadDir(filepath.Join(dir, "managed-settings.d"))
		if err != nil {
			continue
		}
		for _, e := range entries { // ReadDir sorts
			if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(dir, "managed-settings.d", e.Name()))
			}
		}
	}
	return files
}
