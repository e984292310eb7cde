// Package metrics counts what a server does and shows it to Prometheus. It is
// the only package that knows the library: the others are handed a [Metrics] as
// the small interface that each declares, or offer plain numbers to [Sources].
//
// The values of labels come from lists that the program has: routes, methods,
// classes of status, error codes, tiers. No repo, key, token, person or text of a
// client ever is one, so neither names nor the number of series grow with use.
//
//	m := metrics.New("1.2.3")
//	m.Watch(metrics.Sources{...})
//	http.Handle("/metrics", m.Handler())
package metrics
