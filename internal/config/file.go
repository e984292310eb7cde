package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFile bounds one configuration file, in bytes.
const maxFile = 1 << 20

// readFile reads a TOML file into keys and returns where each stands. A file
// that is absent is empty unless it is required.
func readFile(file string, required bool, keys []key) (map[string]string, ProblemErrors) {
	st, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist) && !required:
		return nil, nil
	case err != nil:
		return nil, ProblemErrors{{file, "reading it: " + cause(err)}}
	case !st.Mode().IsRegular():
		return nil, ProblemErrors{{file, "it is not a regular file"}}
	case st.Size() > maxFile:
		return nil, ProblemErrors{{file, fmt.Sprintf("it is larger than %d bytes", maxFile)}}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, ProblemErrors{{file, "reading it: " + cause(err)}}
	}
	return parse(file, text, keys)
}

// cause returns an error of package os without the path, which stands before
// it already.
func cause(err error) string {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// parse sets keys from TOML and collects every problem. Decoding into a map
// first finds what breaks the language itself; the tree then gives the lines.
func parse(file string, text []byte, keys []key) (map[string]string, ProblemErrors) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(text) {
		return nil, ProblemErrors{{file, "it is not UTF-8"}}
	}
	var whole map[string]any
	if err := toml.Unmarshal(text, &whole); err != nil {
		where := file
		if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := decode.Position()
			where += ":" + strconv.Itoa(line)
		}
		// The library's messages quote no values, only what was expected.
		return nil, ProblemErrors{{where, strings.TrimPrefix(err.Error(), "toml: ")}}
	}
	r := &fileReader{file: file, keys: keys, where: map[string]string{}}
	r.parser.Reset(text)
	for r.parser.NextExpression() {
		r.expression(r.parser.Expression())
	}
	if err := r.parser.Error(); err != nil {
		r.problems = append(r.problems, Problem{file, "it cannot be read as TOML"})
	}
	return r.where, r.problems
}

// fileReader walks one file.
type fileReader struct {
	file     string
	keys     []key
	parser   unstable.Parser
	table    string // dotted name of the current table, with a dot at its end
	skip     bool   // the current table is unknown and was reported
	where    map[string]string
	problems ProblemErrors
}

func (r *fileReader) expression(n *unstable.Node) {
	name, line := r.name(n)
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable:
		r.table, r.skip = name+".", false
		if n.Kind == unstable.ArrayTable || !r.isTable(name) {
			r.skip = true
			r.unknown(line, "table", name)
		}
	case unstable.KeyValue:
		if !r.skip {
			r.keyValue(r.table+name, n.Value(), line)
		}
	}
}

// name returns the dotted key of an expression and its line.
func (r *fileReader) name(n *unstable.Node) (string, int) {
	var parts []string
	line := 0
	for it := n.Key(); it.Next(); {
		if line == 0 {
			line = r.parser.Shape(it.Node().Raw).Start.Line
		}
		parts = append(parts, string(it.Node().Data))
	}
	return strings.Join(parts, "."), line
}

func (r *fileReader) isTable(name string) bool {
	for _, k := range r.keys {
		if strings.HasPrefix(k.name, name+".") {
			return true
		}
	}
	return false
}

func (r *fileReader) keyValue(name string, value *unstable.Node, line int) {
	if value.Kind == unstable.InlineTable && r.isTable(name) {
		for it := value.Children(); it.Next(); {
			inner, innerLine := r.name(it.Node())
			r.keyValue(name+"."+inner, it.Node().Value(), innerLine)
		}
		return
	}
	where := r.file + ":" + strconv.Itoa(line)
	for _, k := range r.keys {
		if k.name != name {
			continue
		}
		if k.noFile {
			r.problems = append(r.problems, Problem{where, name + " does not belong into a file; set " + k.env})
			return
		}
		if err := k.setNode(value); err != nil {
			r.problems = append(r.problems, Problem{where, name + ": " + err.Error()})
		}
		r.where[name] = where
		return
	}
	r.unknown(line, "key", name)
}

func (r *fileReader) unknown(line int, what, name string) {
	text := fmt.Sprintf("unknown %s %q", what, name)
	var known []string
	for _, k := range r.keys {
		if table, _, ok := strings.Cut(k.name, "."); ok && what == "table" {
			known = append(known, table)
		} else if what == "key" && !k.noFile {
			known = append(known, k.name)
		}
	}
	if near := nearest(name, known); near != "" {
		text += fmt.Sprintf(", did you mean %s?", near)
	}
	r.problems = append(r.problems, Problem{r.file + ":" + strconv.Itoa(line), text})
}

// setNode sets the key from a value in a file; its type must fit.
func (k key) setNode(n *unstable.Node) error {
	text := string(n.Data)
	switch target := k.value.Addr().Interface().(type) {
	case *string:
		if n.Kind != unstable.String {
			return errString
		}
		*target = text
	case *[]string:
		return setList(target, n)
	case *bool:
		if n.Kind != unstable.Bool {
			return errBool
		}
		return k.setText(text)
	case *int:
		if n.Kind != unstable.Integer {
			return errInt
		}
		return k.setText(strings.ReplaceAll(text, "_", ""))
	default:
		if n.Kind != unstable.String {
			return errDuration
		}
		return k.setText(text)
	}
	return nil
}

func setList(target *[]string, n *unstable.Node) error {
	if n.Kind != unstable.Array {
		return errList
	}
	list := []string{}
	for it := n.Children(); it.Next(); {
		if it.Node().Kind == unstable.Comment {
			continue
		}
		if it.Node().Kind != unstable.String {
			return errList
		}
		list = append(list, string(it.Node().Data))
	}
	*target = list
	return nil
}
