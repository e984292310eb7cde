package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// Input is everything that may set a key.
type Input struct {
	// File is read when it is there; an empty name means no file.
	File string
	// Required makes an absent File a problem: the user named it.
	Required bool
	// Getenv returns a variable's value, "" for unset; nil means no environment.
	Getenv func(string) string
	// Flags are the flags that were given, by key ("listen",
	// "limits.max_entries").
	Flags map[string]string
}

// Row is one key of the effective configuration.
type Row struct {
	Key string
	// Value is written as in the file; of a secret it only says that it is set.
	Value string
	// Source is "default", "FILE:LINE", a variable's name, or "--flag".
	Source string
}

// Effective is a configuration and where each value came from.
type Effective[T any] struct {
	// Config is complete: what nobody set has its default.
	Config T
	rows   []Row
}

// Rows lists every key in the order of the struct.
func (e Effective[T]) Rows() []Row { return slices.Clone(e.rows) }

// Show writes every key with its value and source, secrets redacted.
func (e Effective[T]) Show(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range e.rows {
		if _, err := fmt.Fprintf(tw, "%s = %s\t# %s\n", row.Key, row.Value, row.Source); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// fault is a value that its own package refuses.
type fault struct {
	key  string
	text string
}

// rules are what one kind of configuration adds to the machinery.
type rules struct {
	defaults any    // pointer to a struct of the same type
	prefix   string // of the variables that every key has, "" for none
	check    func() []fault
}

// load fills the struct behind ptr.
func load(ptr any, in Input, r rules) ([]Row, error) {
	keys := keysOf(ptr)
	where, problems := map[string]string{}, ProblemErrors(nil)
	if in.File != "" {
		fromFile, found := readFile(in.File, in.Required, keys)
		problems = append(problems, found...)
		maps.Copy(where, fromFile)
	}
	problems = append(problems, fromEnvironment(keys, in.Getenv, r.prefix, where)...)
	problems = append(problems, fromFlags(keys, in.Flags, where)...)
	fill(keys, keysOf(r.defaults), where)
	problems = append(problems, refused(r.check(), where, problems)...)
	rows := make([]Row, len(keys))
	for i, k := range keys {
		rows[i] = Row{k.name, k.show(), where[k.name]}
	}
	return rows, problems.orNil()
}

// refused turns the values that a package refuses into problems. A key that
// could not be read has its problem already.
func refused(faults []fault, where map[string]string, known ProblemErrors) ProblemErrors {
	var problems ProblemErrors
	for _, f := range faults {
		at := where[f.key]
		unread := slices.ContainsFunc(known, func(p Problem) bool { return p.Where == at })
		if !unread && at != sourceDefault {
			problems = append(problems, Problem{at, f.key + ": " + f.text})
		}
	}
	return problems
}

const sourceDefault = "default"

// fill gives the keys that nobody set their defaults.
func fill(keys, defaults []key, where map[string]string) {
	for i, k := range keys {
		if where[k.name] == "" {
			where[k.name] = sourceDefault
			k.value.Set(defaults[i].value)
		}
	}
}

// fromEnvironment sets keys from their variables. Those with a prefix may also
// name a file that holds the value, by the suffix _FILE.
func fromEnvironment(keys []key, getenv func(string) string, prefix string, where map[string]string) ProblemErrors {
	if getenv == nil {
		return nil
	}
	var problems ProblemErrors
	for _, k := range keys {
		name := k.env
		if name == "" && prefix != "" {
			name = prefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
		}
		if name == "" {
			continue
		}
		text := getenv(name)
		if file := getenv(name + "_FILE"); prefix != "" && file != "" {
			name += "_FILE"
			if text != "" {
				problems = append(problems, Problem{name, "it is set beside the variable without _FILE; unset one"})
				continue
			}
			content, err := readSmall(file)
			if err != nil {
				problems = append(problems, Problem{name, err.Error()})
				continue
			}
			text = content
		}
		if text == "" {
			continue
		}
		if err := k.setText(text); err != nil {
			problems = append(problems, Problem{name, err.Error()})
		}
		where[k.name] = name
	}
	return problems
}

func fromFlags(keys []key, flags, where map[string]string) ProblemErrors {
	var problems ProblemErrors
	for _, k := range keys {
		text, given := flags[k.name]
		if !given {
			continue
		}
		flag := "--" + strings.ReplaceAll(k.name, "_", "-")
		if err := k.setText(text); err != nil {
			problems = append(problems, Problem{flag, err.Error()})
		}
		where[k.name] = flag
	}
	return problems
}

// maxSmall bounds a file that holds one value, in bytes.
const maxSmall = 64 << 10

// readSmall reads a file that holds one value, trimmed.
func readSmall(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("reading %s: %s", file, cause(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err != nil {
		return "", fmt.Errorf("reading %s: %s", file, cause(err))
	}
	if len(text) > maxSmall {
		return "", fmt.Errorf("reading %s: it is larger than %d bytes", file, maxSmall)
	}
	value := strings.TrimSpace(string(text))
	if value == "" {
		return "", fmt.Errorf("reading %s: %w", file, errEmpty)
	}
	return value, nil
}

var errEmpty = errors.New("it is empty")
