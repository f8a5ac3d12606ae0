"""What the web server answers: the JSON API, the status page, the page of a run."""
