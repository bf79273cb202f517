"""What is asked of the library about a problem: posteriors, bootstraps, gaps."""
