package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as "2s" or "100ms".
type Duration time.Duration

// Std returns d as the standard type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String returns the shortest usual spelling.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// key is one leaf of a configuration struct.
type key struct {
	name   string // dotted, as in the file
	env    string // its own variable, "" for none
	secret bool   // never shown
	noFile bool   // must not stand in a file
	value  reflect.Value
}

// keysOf lists the leaves of the struct that ptr points to, by their tags: toml
// names the key, env its variable, config:"secret" hides the value, and
// config:"secret,nofile" keeps it out of files as well.
func keysOf(ptr any) []key {
	return leaves(reflect.ValueOf(ptr).Elem(), "")
}

func leaves(v reflect.Value, prefix string) []key {
	var out []key
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name := field.Tag.Get("toml")
		if name == "" {
			continue
		}
		if field.Type.Kind() == reflect.Struct {
			out = append(out, leaves(v.Field(i), prefix+name+".")...)
			continue
		}
		hints := field.Tag.Get("config")
		out = append(out, key{
			name:   prefix + name,
			env:    field.Tag.Get("env"),
			secret: strings.Contains(hints, "secret"),
			noFile: strings.Contains(hints, "nofile"),
			value:  v.Field(i),
		})
	}
	return out
}

var (
	errBool     = errors.New("true or false is wanted")
	errInt      = errors.New("a whole number is wanted")
	errDuration = errors.New(`a duration such as "2s" or "100ms" is wanted`)
	errString   = errors.New("a text in quotes is wanted")
	errList     = errors.New(`a list of texts such as ["a", "b"] is wanted`)
)

// setText sets the key from a variable or a flag; lists are separated by commas.
func (k key) setText(text string) error {
	switch target := k.value.Addr().Interface().(type) {
	case *string:
		*target = text
	case *bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errBool
		}
		*target = b
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errInt
		}
		*target = n
	case *Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return errDuration
		}
		*target = Duration(d)
	case *[]string:
		list := []string{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		*target = list
	default:
		return fmt.Errorf("the key %s has a type that cannot be set", k.name)
	}
	return nil
}

// show returns the value as TOML; a secret becomes "(set)" or "".
func (k key) show() string {
	if k.secret {
		if k.value.IsZero() {
			return strconv.Quote("")
		}
		return "(set)"
	}
	switch v := k.value.Interface().(type) {
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = strconv.Quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case string:
		return strconv.Quote(v)
	case Duration:
		return strconv.Quote(v.String())
	default:
		return fmt.Sprint(v)
	}
}
