// Package openapi describes the server's interface as an OpenAPI 3.1 document.
//
// Operations are a list by hand, since what they mean is prose; the shapes of
// bodies are read off the types of package api, so that they cannot differ from
// what travels. A test of package server compares the list with its routes.
//
//	doc := openapi.Document("1.0") // the JSON of /openapi.json
package openapi
