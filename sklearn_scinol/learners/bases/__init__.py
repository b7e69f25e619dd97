"""What several learners have in common."""
