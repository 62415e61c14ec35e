"""Methods of other people's papers, corrected where they are wrong or unsafe, and the baselines beside them."""
