package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/teammem/teammemd/api"
)

// operation is one method of one path.
type operation struct {
	method, path string
	summary      string
	who          string // the least role; "" for anyone
	query        []parameter
	in           any    // of the request's body: a value of its type; nil for none
	out          any    // of the answer's body; nil where it is not JSON
	media        string // of the answer, where it is not JSON
	also         []int  // statuses beside 200 that are no refusals
}

// parameter is one of the query.
type parameter struct {
	name, about string
	required    bool
	number      bool
}

// Document returns the JSON of the document, for a version of the program. It is
// the same for the same version.
func Document(version string) ([]byte, error) {
	known := schemas{}
	paths := map[string]object{}
	for _, o := range operations {
		if paths[o.path] == nil {
			paths[o.path] = object{}
		}
		paths[o.path][strings.ToLower(o.method)] = o.describe(known)
	}
	known.ref(reflect.TypeFor[api.ErrorBody]())
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "teammemd", "version": version,
			"description": "Team memory for coding agents. docs/api.md says what each answer means.",
		},
		"paths": paths,
		"components": object{
			"schemas": known,
			"securitySchemes": object{"bearer": object{
				"type": "http", "scheme": "bearer", "description": "A token of 'server token create', of a join code, or of a sign-in.",
			}},
		},
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding the description of the interface: %w", err)
	}
	return append(text, '\n'), nil
}

// Operations lists "METHOD path" of everything that is described.
func Operations() []string {
	list := make([]string, 0, len(operations))
	for _, o := range operations {
		list = append(list, o.method+" "+o.path)
	}
	return list
}

func (o operation) describe(known schemas) object {
	described := object{"summary": o.summary, "operationId": o.id(), "responses": o.responses(known)}
	if o.who != "" {
		described["security"] = []object{{"bearer": []string{}}}
		described["description"] = "For a " + o.who + " of the repo."
		if o.who == anyToken {
			described["description"] = "For any token."
		}
	}
	if len(o.query) > 0 {
		list := make([]object, 0, len(o.query))
		for _, p := range o.query {
			list = append(list, p.describe())
		}
		described["parameters"] = list
	}
	if o.in != nil {
		described["requestBody"] = object{"required": true, "content": object{
			"application/json": object{"schema": known.of(reflect.TypeOf(o.in))},
		}}
	}
	return described
}

// id is a name for generated clients: getApiV1History.
func (o operation) id() string {
	words := strings.FieldsFunc(o.path, func(r rune) bool { return strings.ContainsRune("/-_.", r) })
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.ToLower(o.method) + strings.Join(words, "")
}

func (o operation) responses(known schemas) object {
	ok := object{"description": "The answer."}
	switch {
	case o.media != "":
		ok["content"] = object{o.media: object{"schema": object{"type": "string"}}}
	case o.out != nil:
		ok["content"] = object{"application/json": object{"schema": known.of(reflect.TypeOf(o.out))}}
	}
	all := object{
		"200": ok,
		"default": object{"description": "A refusal.", "content": object{
			"application/json": object{"schema": known.ref(reflect.TypeFor[api.ErrorBody]())},
		}},
	}
	for _, status := range o.also {
		all[strconv.Itoa(status)] = object{"description": "No body."}
	}
	return all
}

func (p parameter) describe() object {
	kind := "string"
	if p.number {
		kind = "integer"
	}
	return object{"name": p.name, "in": "query", "description": p.about, "required": p.required, "schema": object{"type": kind}}
}
