"""The pure core: facts in, decisions out. No file, clock, thread, socket or log in here."""
