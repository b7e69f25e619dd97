"""Learn a CSV file with text and dates as it is."""

from made_data import write_table

from sklearn_scinol import HedgeClassifier
from sklearn_scinol.evaluation import progressive_validation
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder
from sklearn_scinol.streams import read_table

write_table("raw.csv")
model = make_online_pipeline(TableEncoder(), HedgeClassifier())
result = progressive_validation(
    model, read_table("raw.csv", target="y"), classes=[0, 1]
)
loss = -result.scores["neg_log_loss"]
