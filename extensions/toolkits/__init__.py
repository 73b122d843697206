"""N-best lists as toolkits write them; see docs/how-to/formats.md.

ESPnet, fairseq, Hugging Face, Kaldi, mlm-scoring, OpenAI's API and OpenNMT-py; and the forms
of several: n hypotheses a segment in plain lines, and tables.
"""
