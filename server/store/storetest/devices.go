package storetest

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// device is one that said it is person's, seen first and last at a minute.
func device(id byte, person string, minute int, edits ...func(*store.Device)) store.Device {
	when := someTime.Add(time.Duration(minute) * time.Minute)
	d := store.Device{
		ID: store.DeviceID{id}, Actor: api.Actor{Token: "t", Person: person, Device: "desk"}, First: when, Seen: when, Epoch: "e1",
	}
	for _, edit := range edits {
		edit(&d)
	}
	return d
}

func pulled(version uint64) func(*store.Device) {
	return func(d *store.Device) { d.Pulled = version }
}

// cleaned says what was confirmed, at a minute.
func cleaned(version uint64, minute int) func(*store.Device) {
	return func(d *store.Device) {
		d.Cleaned, d.CleanedAt = version, someTime.Add(time.Duration(minute)*time.Minute)
	}
}

func epoch(name string) func(*store.Device) { return func(d *store.Device) { d.Epoch = name } }

func (s *suite) saw(r api.Repo, seen ...store.Device) {
	s.Helper()
	if err := s.store.RecordDevices(s.Context(), map[api.Repo][]store.Device{r: seen}); err != nil {
		s.Fatalf("recording devices: %v", err)
	}
}

func (s *suite) devices(r api.Repo) []store.Device {
	s.Helper()
	list, err := s.store.Devices(s.Context(), r)
	if err != nil {
		s.Fatalf("listing devices: %v", err)
	}
	return list
}

// since gives a later sighting the time of the first.
func since(minute int) func(*store.Device) {
	return func(d *store.Device) { d.First = someTime.Add(time.Duration(minute) * time.Minute) }
}

var devices = map[string]func(*suite){
	"sightings add up": func(s *suite) {
		s.apply(acme, put("a.md", "one"))
		s.apply(other, put("a.md", "one"))
		nameless := func(d *store.Device) { d.Nameless = true }
		s.saw(acme, device(2, "ben", 1, pulled(5)), device(1, "ada", 1, pulled(7), cleaned(6, 1)), device(3, "cyd", 1, nameless))
		s.saw(other, device(1, "ada", 9, pulled(1)))
		s.saw(acme, device(2, "ben", 3, pulled(4), cleaned(2, 3)), device(1, "ada lovelace", 2, pulled(8), cleaned(6, 2)))
		want := []store.Device{
			device(1, "ada lovelace", 2, since(1), pulled(8), cleaned(6, 1)),
			device(2, "ben", 3, since(1), pulled(5), cleaned(2, 3)),
			device(3, "cyd", 1, nameless),
		}
		for range 2 {
			s.wantEqual("devices", s.devices(acme), want)
			s.wantEqual("another repo's", s.devices(other), []store.Device{device(1, "ada", 9, pulled(1))})
			s.reopen()
		}
	},
	"numbers of another epoch begin anew": func(s *suite) {
		s.apply(acme, put("a.md", "one"))
		s.saw(acme, device(1, "ada", 1, pulled(9), cleaned(8, 1)))
		s.saw(acme, device(1, "ada", 5, pulled(3), epoch("e2")))
		s.wantEqual("after a restore", s.devices(acme), []store.Device{device(1, "ada", 5, since(1), pulled(3), epoch("e2"))})
		s.saw(acme, device(1, "ada", 4, pulled(9), cleaned(8, 4))) // a server that is late
		s.wantEqual("after a late word", s.devices(acme), []store.Device{device(1, "ada", 5, since(1), pulled(3), epoch("e2"))})
	},
	"devices are of repos that were written": func(s *suite) {
		s.saw(acme, device(1, "ada", 1))
		s.wantEqual("devices", len(s.devices(acme)), 0)
		s.apply(acme, put("a.md", "one"))
		s.wantEqual("devices of the repo", len(s.devices(acme)), 0)
		before := s.trail(acme)
		s.saw(acme, device(1, "ada", 1))
		s.wantEqual("audit rows", len(s.trail(acme)), len(before))
		s.wantEqual("version", s.head(acme).Version, uint64(1))
	},
	"devices follow a rename": func(s *suite) {
		s.bind("acme/api", "forge#1")
		s.apply(acme, put("a.md", "one"))
		s.saw(acme, device(1, "ada", 1))
		s.bind("acme/renamed", "forge#1")
		renamed, err := api.ParseRepo("acme/renamed")
		if err != nil {
			s.Fatal(err)
		}
		s.wantEqual("under the new name", s.devices(renamed), []store.Device{device(1, "ada", 1)})
		s.wantEqual("under the old name", len(s.devices(acme)), 0)
	},
	"old devices go": func(s *suite) {
		s.apply(acme, put("a.md", "one"))
		s.apply(other, put("a.md", "one"))
		s.saw(acme, device(1, "ada", 1), device(2, "ben", 3))
		s.saw(other, device(3, "cyd", 2))
		dropped, err := s.store.ForgetDevices(s.Context(), someTime.Add(3*time.Minute))
		if err != nil || dropped != 2 {
			s.Errorf("dropped %d, %v; want 2", dropped, err)
		}
		s.wantEqual("who is left", s.devices(acme), []store.Device{device(2, "ben", 3)})
		s.wantEqual("of the other repo", len(s.devices(other)), 0)
	},
	"erasing a person takes their name off devices": func(s *suite) {
		s.apply(acme, put("a.md", "one"))
		s.saw(acme, device(1, "ada", 1, pulled(4)), device(2, "ben", 1))
		s.erase("ada")
		want := device(1, "", 1, pulled(4))
		want.Actor = api.Actor{}
		s.wantEqual("devices", s.devices(acme), []store.Device{want, device(2, "ben", 1)})
	},
	"ids without end do not fill the store": func(s *suite) {
		s.apply(acme, put("a.md", "one"))
		many := make([]store.Device, store.MaxDevices+10)
		for i := range many {
			many[i] = device(0, "ada", 1)
			binary.BigEndian.PutUint64(many[i].ID[8:], uint64(i))
		}
		s.saw(acme, many...)
		s.saw(acme, device(0, "ada", 8, pulled(9)))
		list := s.devices(acme)
		if len(list) != store.MaxDevices || list[0].Pulled != 9 || !slices.ContainsFunc(list, func(d store.Device) bool { return d.ID == many[9].ID }) {
			s.Errorf("%d devices, the first at version %d", len(list), list[0].Pulled)
		}
	},
}
