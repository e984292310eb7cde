package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/openapi"
)

// TestOpenAPIIsWhole compares the description with the server's table, both ways.
func TestOpenAPIIsWhole(t *testing.T) {
	w := newWorld(t, options{})
	methods, public := w.server.Table()
	described := openapi.Operations()
	for path, list := range methods {
		for _, method := range list {
			if !slices.Contains(described, method+" "+path) {
				t.Errorf("%s %s is not described", method, path)
			}
		}
	}
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			Security []any
		}
	}
	got := w.do(request{path: api.PathOpenAPI})
	if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
		t.Fatalf("%d, %s", got.status, got.header)
	}
	if err := json.Unmarshal(got.body, &doc); err != nil || doc.OpenAPI != "3.1.0" {
		t.Fatalf("version %q, %v", doc.OpenAPI, err)
	}
	for path, list := range doc.Paths {
		for method, o := range list {
			if !slices.Contains(methods[path], strings.ToUpper(method)) {
				t.Errorf("%s %s is described, and there is none", method, path)
			}
			if open := len(o.Security) == 0; open != public[path] && path != api.PathIntrospect {
				t.Errorf("%s %s: described as open to all %v, and is %v", method, path, open, public[path])
			}
		}
	}
}

// Every reference of the document leads somewhere, and the members that travel are
// there.
func TestOpenAPIReferences(t *testing.T) {
	text, err := openapi.Document("1.0")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), `"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		if len(doc.Components.Schemas[name].Properties) == 0 {
			t.Errorf("the schema %q is referred to, and is empty", name)
		}
	}
	push := doc.Components.Schemas["PushAnswer"]
	if !slices.Contains(push.Required, "checksum") || slices.Contains(push.Required, "ignored") || push.Properties["ignored"] == nil {
		t.Errorf("PushAnswer is described as %+v", push)
	}
}
