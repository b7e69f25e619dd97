"""Learn the topics of texts."""

from made_data import chunks, texts
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.evaluation import progressive_validation

words, y = texts()
X = HashingVectorizer(n_features=2**14).transform(words)
result = progressive_validation(ScInOLClassifier(), chunks(X, y), classes=[0, 1])
loss = -result.scores["neg_log_loss"]
