package server

import (
	"maps"
	"slices"
)

// Table lists the methods of every path, and whether it answers without a token.
func (s *Server) Table() (methods map[string][]string, public map[string]bool) {
	methods, public = map[string][]string{}, map[string]bool{}
	for path, r := range s.routes {
		methods[path] = slices.Sorted(maps.Keys(r.methods))
		public[path] = r.public
	}
	return methods, public
}
