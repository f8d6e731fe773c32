"""Whether results are what the code gives: they are made anew elsewhere, and compared.

The gate holds each file against what its job recorded, so it finds a file that was changed without
its record. Who changes both, and what describes them, is found here: nothing that lies in the
results is believed, but for what is said to be lent.
"""
