package openapi

import (
	"encoding"
	"reflect"
	"strings"
	"time"
)

// object is a JSON object.
type object = map[string]any

// schemas collects the shapes of named types.
type schemas map[string]object

var (
	textType = reflect.TypeFor[encoding.TextMarshaler]()
	timeType = reflect.TypeFor[time.Time]()
)

// of returns the schema of a Go type as encoding/json writes it: structs of
// package api by reference.
func (s schemas) of(t reflect.Type) object {
	switch {
	case t == timeType:
		return object{"type": "string", "format": "date-time"}
	case t.Implements(textType), t.Kind() == reflect.String:
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.ref(t)
	}
	return object{"type": "integer"}
}

// ref names a struct's schema, and makes it the first time.
func (s schemas) ref(t reflect.Type) object {
	if _, made := s[t.Name()]; !made {
		s[t.Name()] = object{} // a type may hold itself
		properties, required := object{}, []string{}
		s.fields(t, properties, &required)
		schema := object{"type": "object", "properties": properties}
		if len(required) > 0 {
			schema["required"] = required
		}
		s[t.Name()] = schema
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}
}

// fields adds the members of a struct, those of embedded ones included. A member
// that may be left out is not required.
func (s schemas) fields(t reflect.Type, properties object, required *[]string) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		properties[name] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
