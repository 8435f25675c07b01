"""Terms: the treaty document, its fingerprint, and what it means."""

from treaty.terms.document import VERSION as VERSION
from treaty.terms.document import Treaty as Treaty
from treaty.terms.fingerprints import canonical as canonical
from treaty.terms.fingerprints import fingerprint as fingerprint
from treaty.terms.reading import encoder_of as encoder_of
from treaty.terms.reading import fit as fit
from treaty.terms.reading import model_of as model_of
from treaty.terms.reading import plan_of as plan_of
from treaty.terms.reading import problem_of as problem_of
from treaty.terms.toml import dumps as dumps
from treaty.terms.toml import load as load
from treaty.terms.toml import loads as loads
