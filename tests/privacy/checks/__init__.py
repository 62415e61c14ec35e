"""What several tests of contributions and noise share."""
