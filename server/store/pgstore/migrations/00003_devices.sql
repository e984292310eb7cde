-- Which checkouts sync with a repo, for whoever asks where a content went. Who
-- they are is the actor's to say, so that erasing a person covers it.

-- +goose Up

CREATE TABLE devices (
  repo       bigint NOT NULL,
  id         bytea NOT NULL,
  actor      text COLLATE "C" NOT NULL,
  nameless   boolean NOT NULL,
  first_ms   bigint NOT NULL,
  seen_ms    bigint NOT NULL,
  epoch      text NOT NULL,
  pulled     bigint NOT NULL,
  cleaned    bigint NOT NULL,
  cleaned_ms bigint NOT NULL,
  PRIMARY KEY (repo, id)
);
