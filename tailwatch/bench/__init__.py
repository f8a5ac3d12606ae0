"""
How often the checks are wrong, and how much they see: what `tailwatch bench` measures.

`logs` reads logs; `faults` writes faults into them, `stall` takes rows away; `replay` feeds
both to the checks as they run live; `rivals` are the rules of others; `measure` does all
this for each log, `score` counts, `table` writes down.
"""
