// Package clients remembers which checkouts sync with a repo, so that whoever
// takes a leaked text away can be told where it went and who has cleaned up.
//
// A client says in [api.HeaderDevice] which checkout it is, and in
// [api.HeaderCleaned] how far it has carried out the repo's redactions. What is
// seen is gathered in memory and written a few seconds later, many sightings at a
// time and never by a request: a 304 stays as cheap as it was. A crash loses those
// seconds, and clients say again with their next request what they have cleaned.
//
//	t := clients.New(clients.Options{Devices: backend})
//	go t.Run(ctx)
//	t.Saw(clients.Sighting{Repo: repo, ID: id, At: time.Now()}, who)
package clients
