"""What each user contributes to the queries of budgeted ALS. Sees ratings."""
