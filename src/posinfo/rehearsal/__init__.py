"""A rehearsal on other machines: the float32 suites measured anew under an emulator.

Several processors, thread counts and numerical settings, compared with this machine under the
numerical profile. What comes out is a table of which rows kept their bytes, and which moved.
"""
