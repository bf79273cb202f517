"""From posteriors to answers: on a terminal, as JSON and in files; and what is said on how exact they are."""
