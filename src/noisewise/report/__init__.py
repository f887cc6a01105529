"""What people look at: progress, pictures, pages."""

from noisewise.answer import result
from noisewise.report import card, plot, progress

result.SHOWN_BY.update(card=card.card, plot=plot.plot, progress=progress.progress)
