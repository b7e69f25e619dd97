"""What is done to rows and targets before a learner sees them, online."""
