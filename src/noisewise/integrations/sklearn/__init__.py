"""scikit-learn: a hyperparameter search that spends its budget in single fits.

>>> from noisewise.integrations.sklearn import NoisewiseSearchCV
>>> from sklearn.svm import SVC
>>> search = NoisewiseSearchCV(SVC(), {"C": "1e-2..1e3:log", "gamma": "1e-4..1:log"}, budget=100)

See docs/guides/scikit-learn.md.
"""

from noisewise.integrations.sklearn.search import NoisewiseSearchCV

__all__ = ["NoisewiseSearchCV"]
