"""What estimators have learned: state and predictions."""
