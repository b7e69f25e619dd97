"""Online transforms of rows and targets, before learners see them."""
