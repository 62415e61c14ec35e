"""What each user contributes to the questions of budgeted ALS. Sees ratings."""
