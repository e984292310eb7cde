-- Where the newest tokens of a sign-in were asked for from.
ALTER TABLE families ADD COLUMN address TEXT NOT NULL DEFAULT '';
