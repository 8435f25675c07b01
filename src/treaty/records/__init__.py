"""Records: how a row of somebody's file becomes (x, y)."""

from treaty.records.columns import Feature as Feature
from treaty.records.columns import Number as Number
from treaty.records.columns import OneHot as OneHot
from treaty.records.columns import Ordinal as Ordinal
from treaty.records.counts import Counts as Counts
from treaty.records.dates import Date as Date
from treaty.records.dialect import Dialect as Dialect
from treaty.records.dictionary import Dictionary as Dictionary
from treaty.records.dictionary import DictionaryTerms as DictionaryTerms
from treaty.records.encoder import Encoder as Encoder
from treaty.records.encoder import dictionary_for as dictionary_for
from treaty.records.fitting import bounds_dictionary as bounds_dictionary
from treaty.records.frames import FrameSource as FrameSource
from treaty.records.hats import Hats as Hats
from treaty.records.opening import SourceLike as SourceLike
from treaty.records.opening import open_source as open_source
from treaty.records.opening import proposed_dialect as proposed_dialect
from treaty.records.sources import Source as Source
from treaty.records.target import Target as Target
