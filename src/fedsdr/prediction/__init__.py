"""Models of y on the reduced variables: curves with bands, predictions, measures."""

from fedsdr.estimation.additive_fit import AdditiveFit, axes_of, fit_additive
from fedsdr.prediction.measures import Measures, measure_common
from fedsdr.prediction.model_file import model_values, read_model, write_model
from fedsdr.prediction.prediction_model import PredictionModel

__all__ = [
    "AdditiveFit",
    "Measures",
    "PredictionModel",
    "axes_of",
    "fit_additive",
    "measure_common",
    "model_values",
    "read_model",
    "write_model",
]
