"""What surrounds computing: plans, orders, models made sparse, facts of the process, the command line."""
