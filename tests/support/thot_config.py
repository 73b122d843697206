"""A configuration that tunes the embedded decoder on PORT, with an aligner that it trains."""

THOT = """\
[tune]
output = "run"
iterations = {iterations}
nbest = {nbest}
[data]
source = "dev.src"
references = ["dev.tgt"]
test_source = "dev.src"
test_references = ["dev.tgt"]
[metric]
name = "port"
[optimizer]
name = "mert"
searches_per_feature = 1
[aligner]
name = "thot"
model = "ibm1"
iterations = {rounds}
train_source = "train.src"
train_target = "train.tgt"
{aligner}
[decoder]
name = "thot"
train_source = "train.src"
train_target = "train.tgt"
model = "model"
iterations = {rounds}
{decoder}
"""


def thot_config(*, iterations, nbest, rounds, aligner="", decoder=""):
    """Return it; `rounds` are those of training, the last two are more lines of their tables."""
    return THOT.format(
        iterations=iterations, nbest=nbest, rounds=rounds, aligner=aligner, decoder=decoder
    )
