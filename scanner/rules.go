package scanner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"

	"github.com/teammem/teammemd/scanner/rules"
)

const (
	// generation is the first part of the rule set's version. It grows when what
	// a rule finds changes meaning: reviewed exceptions of an older one then end.
	generation = "1"
	// decodeDepth is how often base64, hex, percent and \u escapes are decoded.
	decodeDepth = 2
)

// ruleSet is the loaded detector with what we say about each of its rules. It
// is not changed after it was built, and is safe for concurrent use.
type ruleSet struct {
	detector *detect.Detector
	kinds    map[string]kind
	version  string
}

// kind is what we say about a rule.
type kind struct {
	tier   Tier
	reason string
}

// loaded builds the rule set once for the process: it costs tens of milliseconds
// and megabytes, and gitleaks' own logger is a global that is silenced here.
var loaded = sync.OnceValues(loadRules)

func loadRules() (*ruleSet, error) {
	silence()
	cfg, err := stockConfig()
	if err != nil {
		return nil, fmt.Errorf("loading the secret rules: %w", err)
	}
	if err := harden(&cfg); err != nil {
		return nil, fmt.Errorf("loading the secret rules: %w", err)
	}
	detector := detect.NewDetector(cfg)
	detector.IgnoreGitleaksAllow = true
	detector.MaxDecodeDepth = decodeDepth

	kinds := make(map[string]kind, len(cfg.Rules))
	for id := range cfg.Rules {
		kinds[id] = kind{tier: rules.TierOf(id), reason: reasonOf(id)}
	}
	return &ruleSet{detector: detector, kinds: kinds, version: version(cfg, kinds)}, nil
}

// silence turns gitleaks' logger off at every level: below its default level it
// prints the values that it finds.
func silence() {
	const disabled = 7 // zerolog.Disabled
	logging.Logger = logging.Logger.Output(io.Discard).Level(disabled)
}

// stockConfig parses the rules that gitleaks embeds. It does so without
// gitleaks' constructor, which parses them through a global registry.
func stockConfig() (config.Config, error) {
	var raw config.ViperConfig
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &raw); err != nil {
		return config.Config{}, err
	}
	return raw.Translate()
}

// harden removes every exception that a name, a commit or a common word grants.
func harden(cfg *config.Config) error {
	cfg.Allowlists = nil
	for id, rule := range cfg.Rules {
		var kept []*config.Allowlist
		for _, list := range rule.Allowlists {
			narrowed := withoutPlaces(list)
			if narrowed == nil {
				continue
			}
			if err := narrowed.Validate(); err != nil {
				return fmt.Errorf("rule %s: %w", id, err)
			}
			kept = append(kept, narrowed)
		}
		rule.Allowlists = kept
		cfg.Rules[id] = rule
	}
	return nil
}

// withoutPlaces returns list without its paths and commits, nil when nothing of
// it may stay. A list that wants a path as well as a word is dropped: without
// its path it would allow more than before.
func withoutPlaces(list *config.Allowlist) *config.Allowlist {
	placed := len(list.Paths) > 0 || len(list.Commits) > 0
	if placed && list.MatchCondition == config.AllowlistMatchAnd {
		return nil
	}
	if len(list.Regexes) == 0 && len(list.StopWords) == 0 {
		return nil
	}
	return &config.Allowlist{
		Description:    list.Description,
		MatchCondition: list.MatchCondition,
		RegexTarget:    list.RegexTarget,
		Regexes:        list.Regexes,
		StopWords:      slices.Clone(list.StopWords),
	}
}

// version names a rule set: our generation, and a hash over everything that can
// change a finding.
func version(cfg config.Config, kinds map[string]kind) string {
	hash := sha256.New()
	fmt.Fprintf(hash, "generation %s depth %d\n", generation, decodeDepth)
	for _, id := range slices.Sorted(maps.Keys(cfg.Rules)) {
		rule := cfg.Rules[id]
		fmt.Fprintf(hash, "%q %s %q %q %d %v %q\n", id, kinds[id].tier, pattern(rule.Regex), pattern(rule.Path),
			rule.SecretGroup, rule.Entropy, slices.Sorted(slices.Values(rule.Keywords)))
		for _, list := range rule.Allowlists {
			words := slices.Sorted(slices.Values(list.StopWords))
			fmt.Fprintf(hash, " allow %s %q %q", list.MatchCondition, list.RegexTarget, words)
			for _, regex := range list.Regexes {
				fmt.Fprintf(hash, " %q", regex.String())
			}
			fmt.Fprintln(hash)
		}
	}
	return generation + "-" + hex.EncodeToString(hash.Sum(nil))[:12]
}

// pattern returns the source of a regular expression, "" for none.
func pattern[R interface {
	comparable
	fmt.Stringer
}](regex R) string {
	var none R
	if regex == none {
		return ""
	}
	return strings.Clone(regex.String())
}
