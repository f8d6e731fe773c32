"""Values to compare with: arbitrary precision, and bounds from rounding analysis."""
